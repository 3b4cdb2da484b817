// doorbell.hpp: waiting for a neighbour without burning the core it needs.
//
// Every rank of a node has a bell in shared memory. Whoever changes something a rank may be waiting
// for rings its bell; a waiter looks a while, then sleeps in the kernel until the bell rings.
// Nothing is lost between looking and sleeping: the bell's number is read before looking, and
// sleeping ends at once if it has changed.
#pragma once

#include <atomic>
#include <cstdint>

namespace choir {

struct alignas(64) Bell {
  std::atomic<std::uint32_t> rung{0};
  std::atomic<std::uint32_t> sleepers{0};
};

void ring(Bell& bell);

/// Sleeps until the bell's number differs from `seen` or the time is over.
void sleep_on(Bell& bell, std::uint32_t seen, double at_most_seconds);

}  // namespace choir
