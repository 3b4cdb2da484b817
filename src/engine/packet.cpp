#include "engine/packet.hpp"

#include <cstring>
#include <limits>

#include "mpi/error.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

/// MPI counts are ints: messages travel in units of a page where they are longer than that.
constexpr std::size_t unit = 4096;

struct Count {
  int count;
  MPI_Datatype type;
};

Count count_of(std::size_t bytes) {
  static const MPI_Datatype pages = [] {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check(PMPI_Type_contiguous(unit, MPI_BYTE, &type));
    check(PMPI_Type_commit(&type));
    return type;
  }();
  if (bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return {static_cast<int>(bytes), MPI_BYTE};
  return {static_cast<int>(bytes / unit), pages};
}

void pad(std::vector<char>& bytes) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    bytes.resize((bytes.size() + unit - 1) / unit * unit);
}

bool finished(MPI_Request& request) {
  int done = 0;
  check(REAL(Test)(&request, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

}  // namespace

std::vector<char> begin_packet(const Runs& runs, std::int64_t data_bytes,
                               std::int64_t answer_slot) {
  Bytes description;
  encode(runs, description);
  Bytes header;
  encode_number(description.size() << 1 | static_cast<std::uint64_t>(answer_slot & 1), header);
  std::vector<char> packet(header.size() + description.size() +
                           static_cast<std::size_t>(data_bytes));
  std::memcpy(packet.data(), header.data(), header.size());
  std::memcpy(packet.data() + header.size(), description.data(), description.size());
  return packet;
}

PacketHeader packet_header(const std::vector<char>& packet) {
  const auto number =
      decode_number(reinterpret_cast<const unsigned char*>(packet.data()), packet.size());
  return {number.size, static_cast<std::size_t>(number.value >> 1),
          static_cast<std::int64_t>(number.value & 1)};
}

std::int64_t packet_overhead(const std::vector<char>& packet) {
  const auto header = packet_header(packet);
  return static_cast<std::int64_t>(header.size + header.description);
}

char* packet_data(std::vector<char>& packet) { return packet.data() + packet_overhead(packet); }

std::optional<Runs> packet_runs(const std::vector<char>& packet) {
  const auto header = packet_header(packet);
  if (header.size == 0 || packet.size() - header.size < header.description) return std::nullopt;
  return decode(reinterpret_cast<const unsigned char*>(packet.data()) + header.size,
                header.description);
}

std::int64_t total_bytes(const Runs& runs) {
  std::int64_t bytes = 0;
  for (const auto& run : runs) bytes += run.bytes();
  return bytes;
}

std::vector<char> begin_reply(std::int64_t data_bytes) {
  return std::vector<char>(static_cast<std::size_t>(reply_overhead + data_bytes));
}

std::int64_t reply_end_of_file(const std::vector<char>& reply) {
  std::int64_t end_of_file = 0;
  std::memcpy(&end_of_file, reply.data(), sizeof end_of_file);
  return end_of_file;
}

void set_reply_end_of_file(std::vector<char>& reply, std::int64_t end_of_file) {
  std::memcpy(reply.data(), &end_of_file, sizeof end_of_file);
}

void Outgoing::send(std::vector<char> bytes, int to, int tag, MPI_Comm comm) {
  bytes_ = std::move(bytes);
  pad(bytes_);
  const auto [count, type] = count_of(bytes_.size());
  check(PMPI_Issend(bytes_.data(), count, type, to, tag, comm, &request_));
  busy_ = true;
}

bool Outgoing::poll() {
  if (!busy_ || !finished(request_)) return false;
  busy_ = false;
  bytes_ = {};
  return true;
}

bool Incoming::poll() {
  if (!matched_) {
    int flag = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(PMPI_Improbe(from_, tag_, comm_, &flag, &message, &status));
    if (flag == 0) return false;
    MPI_Count size = 0;
    check(PMPI_Get_elements_x(&status, MPI_BYTE, &size));
    bytes_.resize(static_cast<std::size_t>(size));
    const auto [count, type] = count_of(bytes_.size());
    check(PMPI_Imrecv(bytes_.data(), count, type, &message, &request_));
    matched_ = true;
  }
  return finished(request_);
}

}  // namespace choir
