#include "frontdoor/host_call.hpp"

#include <climits>
#include <vector>

#include "access/copy.hpp"
#include "access/datatype.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

int call_with_bytes(const DataCall& call, char* bytes, int count, MPI_Status* status) {
  const bool writes = call.operation == Operation::write;
  if (call.offset)
    return writes
               ? REAL(File_write_at_all)(call.handle, *call.offset, bytes, count, MPI_BYTE, status)
               : REAL(File_read_at_all)(call.handle, *call.offset, bytes, count, MPI_BYTE, status);
  return writes ? REAL(File_write_all)(call.handle, bytes, count, MPI_BYTE, status)
                : REAL(File_read_all)(call.handle, bytes, count, MPI_BYTE, status);
}

}  // namespace

int call_host(const DataCall& call, const Host& host, MPI_Status* status) {
  const auto tile = tile_of(call.type);
  const auto bytes = tile->bytes() * call.count;
  const bool in_one_piece = tile->is_contiguous() && tile->span().begin == 0;
  if (in_one_piece || bytes == 0 || bytes > INT_MAX) return host(status);
  const Memory memory{{tile, reinterpret_cast<std::int64_t>(call.buffer)}};
  std::vector<char> packed(static_cast<std::size_t>(bytes));
  if (call.operation == Operation::write)
    copy_packed(Direction::to_window, memory, 0, bytes, packed.data());
  const int code = call_with_bytes(call, packed.data(), static_cast<int>(bytes), status);
  MPI_Count moved = 0;
  if (call.operation == Operation::read && code == MPI_SUCCESS &&
      PMPI_Get_elements_x(status, MPI_BYTE, &moved) == MPI_SUCCESS && moved > 0)
    copy_packed(Direction::from_window, memory, 0, moved, packed.data());
  return code;
}

}  // namespace choir
