// doorbell.hpp: waiting without burning a core the neighbours need.
//
// Every rank of a node has a bell in shared memory. Whoever changes something another rank may be
// waiting for rings its bell; a waiter looks a while, then sleeps in the kernel until the bell
// rings. Nearly always nobody sleeps, and then ringing writes nothing: the line of the bell stays
// where it is. So a waiter announces itself first (Nap) and then looks once more: either it sees
// what was done before, or the ringer sees that somebody sleeps.
#pragma once

#include <atomic>
#include <cstdint>

namespace choir {

struct alignas(64) Bell {
  std::atomic<std::uint32_t> rung{0};
  std::atomic<std::uint32_t> sleepers{0};
};

void ring(Bell& bell);
/// Whether ringing is of any use; for who has made a full_barrier() after what it did.
inline bool has_sleepers(const Bell& bell) {
  return bell.sleepers.load(std::memory_order_seq_cst) != 0;
}

/// What was stored before is visible to others before anything after it is read.
void full_barrier();

/// A waiter that is about to sleep. Between making it and sleep() the waiter must look once more.
class Nap {
 public:
  explicit Nap(Bell& bell);
  ~Nap();
  Nap(const Nap&) = delete;
  Nap& operator=(const Nap&) = delete;
  /// Until the bell rings, or has rung since the nap was announced, or the time is over.
  void sleep(double at_most_seconds);

 private:
  Bell& bell_;
  std::uint32_t seen_;
};

}  // namespace choir
