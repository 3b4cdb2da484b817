// gate.hpp: writers of one node wait for each other before they enter the kernel.
//
// Local file systems let one write of a file pass at a time, and how the kernel lets the writers
// queue costs up to a third of a call of several pieces. Waiting in shared memory is cheaper.
// Nothing depends on it: who has waited too long, since the one inside lost its core or its life,
// goes on without.
#pragma once

#include <atomic>
#include <cstdint>

namespace choir {

struct alignas(64) Gate {
  std::atomic<std::uint32_t> taken{0};

  /// Waits; whether nobody else is inside. Only then leave() is due.
  bool enter();
  void leave() { taken.store(0, std::memory_order_release); }
};

/// Inside the gate for as long as it lives, if there is one and it can be had.
class Passage {
 public:
  explicit Passage(Gate* gate) : gate_(gate != nullptr && gate->enter() ? gate : nullptr) {}
  ~Passage() {
    if (gate_ != nullptr) gate_->leave();
  }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

 private:
  Gate* gate_;
};

}  // namespace choir
