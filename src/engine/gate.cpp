#include "engine/gate.hpp"

#include <sched.h>

namespace choir {
namespace {

/// Looks before a waiter goes on without: about a millisecond with others running in between.
constexpr int most_looks = 1000;
constexpr int looks_in_haste = 200;

}  // namespace

bool Gate::enter() {
  for (int looks = 0; looks < most_looks; ++looks) {
    if (taken.load(std::memory_order_relaxed) == 0 &&
        taken.exchange(1, std::memory_order_acquire) == 0)
      return true;
    if (looks < looks_in_haste)
      __builtin_ia32_pause();
    else
      sched_yield();
  }
  return false;
}

}  // namespace choir
