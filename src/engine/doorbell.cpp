#include "engine/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace choir {

void ring(Bell& bell) {
  bell.rung.fetch_add(1, std::memory_order_seq_cst);
  if (bell.sleepers.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell.rung), FUTEX_WAKE, INT_MAX, nullptr,
          nullptr, 0);
}

void sleep_on(Bell& bell, std::uint32_t seen, double at_most_seconds) {
  const auto whole = static_cast<time_t>(at_most_seconds);
  const timespec limit{whole,
                       static_cast<long>((at_most_seconds - static_cast<double>(whole)) * 1e9)};
  bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (bell.rung.load(std::memory_order_seq_cst) == seen)
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell.rung), FUTEX_WAIT, seen, &limit,
            nullptr, 0);
  bell.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace choir
