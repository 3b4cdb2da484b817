// window.hpp: a window of the file and its place in a cycle buffer.
//
// The blocks of a window lie one behind the other in the buffer: block i starts at i * length.
#pragma once

#include <cstdint>

#include "access/coverage.hpp"
#include "engine/task.hpp"

namespace choir {

/// Visits the parts of `access` in each block of the window: stream range, and the pointer that
/// turns a file offset into a place in the buffer.
template <class Visit>
void visit_blocks(const Access& access, const Run& window, char* buffer, Visit&& visit) {
  for (std::int64_t i = 0; i < window.count; ++i) {
    const auto begin = window.block(i);
    const auto part = access.clip({begin, begin + window.length});
    if (part.empty()) continue;
    // The pointer is meaningful only after an offset is added; some visitors have no buffer at all.
    const auto place = i * window.length - begin;
    const auto origin =
        reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(place);
    visit(part, reinterpret_cast<char*>(origin), place);
  }
}

/// File offset of a place in the buffer.
inline std::int64_t file_offset(const Run& window, std::int64_t place) {
  return window.block(place / window.length) + place % window.length;
}

/// What `access` has in the window, in buffer coordinates.
Runs runs_in_window(const Access& access, const Run& window);

/// Marks what `access` has in the window.
void mark_window(Coverage& coverage, const Access& access, const Run& window);

/// The windows of one aggregator that a rank contributes to, one after the other.
class Itinerary {
 public:
  Itinerary(const Plan& plan, const Aggregator& aggregator, const RankSummary& rank)
      : domain_(aggregator.domain),
        cycle_bytes_(plan.cycle_bytes),
        rank_(rank),
        number_(next_window(domain_, cycle_bytes_, rank_, 0)) {}

  bool done() const { return number_ < 0; }
  std::int64_t number() const { return number_; }
  Run window() const { return window_of(domain_, cycle_bytes_, number_); }
  void advance() { number_ = next_window(domain_, cycle_bytes_, rank_, number_ + 1); }

 private:
  Run domain_;
  std::int64_t cycle_bytes_;
  RankSummary rank_;
  std::int64_t number_;
};

}  // namespace choir
