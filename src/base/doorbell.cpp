#include "base/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace choir {

void full_barrier() {
#ifdef __SANITIZE_THREAD__  // knows no fences
  static std::atomic<int> anything{0};
  anything.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

void ring(Bell& bell) {
  full_barrier();
  if (!has_sleepers(bell)) return;
  bell.rung.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell.rung), FUTEX_WAKE, INT_MAX, nullptr,
          nullptr, 0);
}

Nap::Nap(Bell& bell) : bell_(bell) {
  bell_.sleepers.fetch_add(1, std::memory_order_seq_cst);
  seen_ = bell_.rung.load(std::memory_order_seq_cst);
  full_barrier();
}

Nap::~Nap() { bell_.sleepers.fetch_sub(1, std::memory_order_seq_cst); }

void Nap::sleep(double at_most_seconds) {
  const auto whole = static_cast<time_t>(at_most_seconds);
  const timespec limit{whole,
                       static_cast<long>((at_most_seconds - static_cast<double>(whole)) * 1e9)};
  if (bell_.rung.load(std::memory_order_seq_cst) != seen_) return;
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell_.rung), FUTEX_WAIT, seen_, &limit,
          nullptr, 0);
}

}  // namespace choir
