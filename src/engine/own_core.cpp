#include "engine/own_core.hpp"

#include <sched.h>

#include <algorithm>

#include "engine/task.hpp"

namespace choir {

bool change_core(std::span<const int> taken) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  cpu_set_t free = allowed;
  for (const int core : taken)
    if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(static_cast<std::size_t>(core), &free);
  const int here = sched_getcpu();
  if (here >= 0) CPU_CLR(static_cast<std::size_t>(here), &free);
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof free, &free) != 0) return false;
  sched_setaffinity(0, sizeof allowed, &allowed);
  return true;
}

bool change_core_once(std::span<const int> taken) {
  constexpr std::int64_t shortest_ns = 5'000'000, longest_ns = 1'000'000'000;
  static thread_local std::int64_t next_ns = 0, rest_ns = shortest_ns;
  const auto now = now_ns();
  if (now < next_ns) return false;
  next_ns = now + rest_ns;
  rest_ns = std::min(2 * rest_ns, longest_ns);
  return change_core(taken);
}

}  // namespace choir
