// program.hpp: what one rank does in one step of a workload, as plain MPI-IO.
//
// A workload is a list of collective calls per rank, each with its view, memory type and offset, so
// that one driver runs all of them. Beside the MPI datatypes every call says in plain numbers where
// its bytes lie in the file and in memory: that second description fills and checks the bytes, and
// owes nothing to any datatype decoder.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace choir::bench {

/// An MPI call of the benchmark itself (not of a contender) failed.
struct MpiFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::string mpi_error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
    return "MPI error " + std::to_string(code);
  return std::string(text, static_cast<std::size_t>(length));
}

inline void check(int code) {
  if (code != MPI_SUCCESS) throw MpiFailure(mpi_error_text(code));
}

/// `count` blocks of `length` bytes, `stride` apart, the first at `offset`.
struct Strided {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;
  std::int64_t count = 1;

  std::int64_t bytes() const { return length * count; }
  std::int64_t end() const { return offset + stride * (count - 1) + length; }
};

/// In the order of the datatype's map.
using Pieces = std::vector<Strided>;

inline std::int64_t bytes_of(const Pieces& pieces) {
  std::int64_t sum = 0;
  for (const auto& piece : pieces) sum += piece.bytes();
  return sum;
}

inline std::int64_t blocks_of(const Pieces& pieces) {
  std::int64_t sum = 0;
  for (const auto& piece : pieces) sum += piece.count;
  return sum;
}

/// Walks two descriptions of the same bytes side by side: each(offset in a, offset in b, length).
template <class Each>
void walk_together(const Pieces& a, const Pieces& b, Each&& each) {
  struct Cursor {
    const Pieces& pieces;
    std::size_t index = 0;
    std::int64_t block = 0;
    std::int64_t done = 0;  // bytes of the current block already visited

    bool settle() {  // steps over finished and empty blocks; false at the end
      while (index < pieces.size()) {
        if (block < pieces[index].count && done < pieces[index].length) return true;
        done = 0;
        if (++block < pieces[index].count && pieces[index].length > 0) continue;
        block = 0;
        ++index;
      }
      return false;
    }
    std::int64_t at() const { return pieces[index].offset + block * pieces[index].stride + done; }
    std::int64_t left() const { return pieces[index].length - done; }
  };
  Cursor x{a}, y{b};
  while (x.settle() && y.settle()) {
    const auto length = std::min(x.left(), y.left());
    each(x.at(), y.at(), length);
    x.done += length;
    y.done += length;
  }
  if (x.settle() || y.settle()) throw std::logic_error("file and memory sizes of a call differ");
}

struct View {
  std::int64_t displacement = 0;
  MPI_Datatype etype = MPI_BYTE;
  MPI_Datatype filetype = MPI_BYTE;
};

struct Call {
  std::size_t view = 0;            // index into Program::views
  std::int64_t offset = 0;         // in etypes of the view
  std::int64_t buffer_offset = 0;  // where the memory type starts
  MPI_Datatype memory_type = MPI_BYTE;
  int count = 0;
  std::int64_t step_offset = 0;  // from one step to the next that follows it in the file, in etypes
  Pieces file;                   // absolute bytes in the file
  Pieces memory;                 // bytes relative to the start of the buffer
};

/// One rank's step. Owns the datatypes its calls use; free it before MPI_Finalize.
class Program {
 public:
  std::vector<View> views;
  std::vector<Call> calls;
  std::int64_t buffer_bytes = 0;
  std::int64_t step_bytes = 0;  // from one step to the next in the file; 0: what all ranks span

  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  Program(Program&& other) noexcept
      : views(std::move(other.views)),
        calls(std::move(other.calls)),
        buffer_bytes(other.buffer_bytes),
        types_(std::move(other.types_)) {
    other.types_.clear();
  }
  Program& operator=(Program&&) = delete;
  ~Program() {
    for (auto& type : types_) MPI_Type_free(&type);
  }

  /// Commits a type and frees it with the program.
  MPI_Datatype keep(MPI_Datatype type) {
    check(MPI_Type_commit(&type));
    types_.push_back(type);
    return type;
  }

  std::size_t add_view(const View& view) {
    views.push_back(view);
    return views.size() - 1;
  }

  /// A call whose memory is contiguous and follows the buffers of the calls before it.
  void add_packed_call(std::size_t view, std::int64_t offset_etypes, Pieces file) {
    const auto bytes = bytes_of(file);
    Call call;
    call.view = view;
    call.offset = offset_etypes;
    call.buffer_offset = buffer_bytes;
    call.count = static_cast<int>(bytes);
    call.memory = {{buffer_bytes, bytes, bytes, 1}};
    call.file = std::move(file);
    calls.push_back(std::move(call));
    buffer_bytes += bytes;
  }

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& call : calls) sum += bytes_of(call.file);
    return sum;
  }
  std::int64_t blocks() const {
    std::int64_t sum = 0;
    for (const auto& call : calls) sum += blocks_of(call.file);
    return sum;
  }
  /// One past the last byte touched.
  std::int64_t file_end() const {
    std::int64_t end = 0;
    for (const auto& call : calls)
      for (const auto& piece : call.file)
        if (piece.bytes() > 0) end = std::max(end, piece.end());
    return end;
  }

 private:
  std::vector<MPI_Datatype> types_;
};

}  // namespace choir::bench
