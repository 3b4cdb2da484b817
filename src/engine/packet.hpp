// packet.hpp: what travels between ranks that share no memory: which bytes, and the bytes.
//
// A packet is a number (size of the description, slot of the answer), the description (runs in
// window or file coordinates, encoded), and the packed data. A reply is the end of file and the
// data: whoever gets it has said which bytes they are. No more than that, because a regular pattern
// sends many packets whose description is a few bytes.
#pragma once

#include <mpi.h>

#include <optional>
#include <vector>

#include "access/codec.hpp"

namespace choir {

struct PacketHeader {
  std::size_t size = 0;  ///< its own, in the packet; 0: the packet is damaged
  std::size_t description = 0;
  std::int64_t answer_slot = 0;  ///< which of its two outstanding requests a reader wants answered
};

/// Begins a packet with a description; data are appended behind it.
std::vector<char> begin_packet(const Runs& runs, std::int64_t data_bytes,
                               std::int64_t answer_slot = 0);
char* packet_data(std::vector<char>& packet);
PacketHeader packet_header(const std::vector<char>& packet);
/// Bytes of header and description.
std::int64_t packet_overhead(const std::vector<char>& packet);
/// Nothing if the packet is damaged.
std::optional<Runs> packet_runs(const std::vector<char>& packet);
std::int64_t total_bytes(const Runs& runs);

/// What a reply carries besides its data.
inline constexpr std::int64_t reply_overhead = sizeof(std::int64_t);
/// A reply of so many bytes, to be filled or to be received into.
std::vector<char> begin_reply(std::int64_t data_bytes);
inline char* reply_data(std::vector<char>& reply) { return reply.data() + reply_overhead; }
std::int64_t reply_end_of_file(const std::vector<char>& reply);
void set_reply_end_of_file(std::vector<char>& reply, std::int64_t end_of_file);

/// A message on its way out; its bytes live here until it has left.
class Outgoing {
 public:
  /// Waits for its receiver (synchronous mode), so that no more than the senders keep can pile up
  /// there.
  void send(std::vector<char> bytes, int to, int tag, MPI_Comm comm);
  bool busy() const { return busy_; }
  bool poll();  ///< true once it has left

 private:
  std::vector<char> bytes_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool busy_ = false;
};

/// A message expected from one rank, of a size that only its sender knows.
class Incoming {
 public:
  Incoming(int from, int tag, MPI_Comm comm) : from_(from), tag_(tag), comm_(comm) {}
  bool poll();  ///< true once it is here
  int from() const { return from_; }
  std::vector<char>& bytes() { return bytes_; }

 private:
  int from_, tag_;
  MPI_Comm comm_;
  std::vector<char> bytes_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool matched_ = false;
};

}  // namespace choir
