// task.hpp: what every part of a running call sees, and the interface by which it is polled.
#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "access/copy.hpp"
#include "engine/mapping.hpp"
#include "engine/room.hpp"
#include "plan/plan.hpp"
#include "storage/storage.hpp"

namespace choir {

/// What a rank counted in one call.
struct Traffic {
  std::int64_t bytes_in_node = 0;
  std::int64_t bytes_between_nodes = 0;
  std::int64_t messages_between_nodes = 0;
  std::int64_t metadata_bytes = 0;
  std::int64_t cycles = 0;
  std::int64_t sieved_bytes = 0;
  std::int64_t requests = 0;
  std::int64_t storage_bytes = 0;  ///< to and from the file, by requests or through a mapping
  std::int64_t storage_ns = 0;
  std::int64_t exchange_ns = 0;

  void count_job(const Job& job) {
    requests += job.requests;
    storage_bytes += job.bytes;
  }
  /// A message to another node: its data, and what it carries besides.
  void count_message(std::int64_t data, std::int64_t overhead) {
    ++messages_between_nodes;
    bytes_between_nodes += data;
    metadata_bytes += overhead;
  }
};

/// Where an aggregator's bytes go; opened when a rank first needs it.
class FileAccess {
 public:
  virtual ~FileAccess() = default;
  /// Null and an errno number if the file cannot be opened.
  virtual Storage* storage(int& error) = 0;
  virtual int descriptor(int& error) = 0;
  virtual bool readable() = 0;
  /// On a file system of this machine, where the kernel lets one write of a file pass at a time.
  virtual bool is_local() const = 0;
  virtual FileMapping& mapping() = 0;
};

/// One call in execution, as its parts see it. Outlives them.
struct Context {
  Neighbourhood& hood;
  Room& room;
  FileAccess& file;
  const Plan& plan;
  Summaries ranks;
  Operation operation;
  const Access& access;
  const Memory& memory;
  std::int64_t grain;
  bool marks;  ///< readers say exactly which bytes they need before anything is read
  double sieve_threshold;
  std::uint64_t call;
  // Collected on the way:
  int error = 0;  ///< errno of this rank's first failure
  std::int64_t end_of_file = no_end_of_file;
  Traffic traffic;
  bool timed = true;  ///< somebody will look at the traffic's times
  /// Calls that are carried out together in one room share its tickets and tags: each has a stretch
  /// of aggregator numbers of its own, from here.
  std::size_t first_aggregator = 0;

  Arena& arena() { return *room.arena; }
  /// Nanoseconds of a steady clock, where times are wanted.
  std::int64_t clock() const;
  std::uint64_t ticket_of(std::size_t aggregator, std::int64_t window) const;
  int contribution_tag_of(std::size_t aggregator) const;
  int reply_tag_of(std::size_t aggregator, std::int64_t answer_slot) const;
  void fail(int errno_value) {
    if (error == 0) error = errno_value;
  }
  void met_end_of_file(std::int64_t offset) { end_of_file = std::min(end_of_file, offset); }
};

class Task {
 public:
  virtual ~Task() = default;
  /// Does what can be done now; true if anything was.
  virtual bool poll() = 0;
  virtual bool done() const = 0;
};

using Tasks = std::vector<std::unique_ptr<Task>>;

/// Names a window of an aggregator in a call; never 0. After 2048 calls it names another's: seats
/// take their tickets down.
constexpr std::uint64_t ticket(std::uint64_t call, std::size_t aggregator, std::int64_t window) {
  return ((call & 0x7ff) | 0x800) << 52 | (static_cast<std::uint64_t>(aggregator) & 0xfffff) << 32 |
         (static_cast<std::uint64_t>(window) & 0xffffffff);
}

/// Tags of choir's own communicators. Order between two ranks is kept per aggregator.
constexpr int contribution_tag(std::size_t aggregator) {
  return 16 + 3 * static_cast<int>(aggregator % 8192);
}
/// A reader has two windows on their way at once, and they may be answered in either order.
constexpr int reply_tag(std::size_t aggregator, std::int64_t answer_slot) {
  return contribution_tag(aggregator) + 1 + static_cast<int>(answer_slot & 1);
}
inline constexpr int token_tag = 1;

inline std::uint64_t Context::ticket_of(std::size_t aggregator, std::int64_t window) const {
  return ticket(call, first_aggregator + aggregator, window);
}
inline int Context::contribution_tag_of(std::size_t aggregator) const {
  return contribution_tag(first_aggregator + aggregator);
}
inline int Context::reply_tag_of(std::size_t aggregator, std::int64_t answer_slot) const {
  return reply_tag(first_aggregator + aggregator, answer_slot);
}

/// Nanoseconds of a steady clock.
std::int64_t now_ns();

inline std::int64_t Context::clock() const { return timed ? now_ns() : 0; }

}  // namespace choir
