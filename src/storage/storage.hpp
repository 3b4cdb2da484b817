// storage.hpp: where bytes live: list read and list write of one open file.
//
// Errors are values (errno numbers): a throwing aggregator would strand its peers. A job may finish
// later (threaded, io_uring); posix jobs are finished when they are started.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/device.hpp"

namespace choir {

enum class Operation { read, write };

/// `length` bytes of memory at `data`, to or from file offset `offset`.
struct Transfer {
  std::int64_t offset = 0;
  char* data = nullptr;
  std::int64_t length = 0;
};

inline constexpr std::int64_t no_end_of_file = INT64_MAX;

/// One list of transfers on its way. Lives, unmoved, until done.
struct Job {
  Operation operation = Operation::read;
  std::vector<Transfer> transfers = {};
  int error = 0;                              ///< errno of the first failure
  std::int64_t end_of_file = no_end_of_file;  ///< where a read met the end
  int requests = 0;                           ///< system requests made
  std::int64_t bytes = 0;                     ///< they moved
  int in_flight = 0;
  std::int64_t beside_ns = 0;  ///< time it took beside the rank that started it
};

class Storage {
 public:
  virtual ~Storage() = default;
  /// Starts a job; true if it is already done.
  virtual bool start(Job& job) = 0;
  /// The same where the rank has nothing else to do meanwhile.
  virtual bool start_here(Job& job) { return start(job); }
  /// True once the job is done. Only for a job that start() left unfinished.
  virtual bool poll(Job& job) = 0;
  virtual std::string_view name() const = 0;

  /// start_here() and poll() until done; returns the error.
  int run(Job& job);
  /// poll() until done.
  void await(Job& job);
};

/// Plain system calls on `fd`, which stays the caller's.
std::unique_ptr<Storage> posix_storage(int fd, Device& device);

/// The same system calls by threads beside the rank; null if there can be none. They say so by
/// `when_done`, from one of them.
std::unique_ptr<Storage> threaded_storage(int fd, Device& device, std::function<void()> when_done);

/// Batched requests through io_uring, or null where the kernel refuses.
std::unique_ptr<Storage> uring_storage(int fd);
bool uring_works();

}  // namespace choir
