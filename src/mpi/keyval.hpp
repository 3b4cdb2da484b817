// keyval.hpp: keys of attributes. A key ends with MPI, and a program of sessions may begin MPI
// again.
#pragma once

#include <mpi.h>

#include <atomic>
#include <mutex>

#include "mpi/error.hpp"

namespace choir {

/// How often MPI has ended so far, with the last session.
inline std::atomic<int> mpi_ends{0};

class Keyval {
 public:
  using Make = int (*)(int* key);
  explicit Keyval(Make make) : make_(make) {}

  int get() {
    const int now = mpi_ends.load(std::memory_order_acquire);
    if (made_after_.load(std::memory_order_acquire) == now) return key_;
    const std::lock_guard lock(mutex_);
    if (made_after_.load(std::memory_order_relaxed) != now) {
      check(make_(&key_));
      made_after_.store(now, std::memory_order_release);
    }
    return key_;
  }

 private:
  Make make_;
  std::mutex mutex_;
  std::atomic<int> made_after_{-1};
  int key_ = MPI_KEYVAL_INVALID;
};

}  // namespace choir
