// coverage.hpp: which bytes of a window somebody has written, one bit per grain.
//
// Ranks of a node mark the same map at the same time, each the bytes it placed; the aggregator
// reads it once they have all arrived. Marking ORs whole words, so only words at the edges of a
// piece are contended. Pure: works on words the caller owns (shared memory or heap).
#pragma once

#include <cstdint>
#include <span>

#include "access/run.hpp"

namespace choir {

class Coverage {
 public:
  /// `words` must hold words_for(bytes, grain) words.
  Coverage(std::uint64_t* words, std::int64_t bytes, std::int64_t grain)
      : words_(words), bytes_(bytes), shift_(shift_of(grain)) {}

  static std::int64_t words_for(std::int64_t bytes, std::int64_t grain) {
    return ((bytes >> shift_of(grain)) + 127) / 64;
  }

  void clear();
  /// Marks a run given in window bytes; every edge is a multiple of the grain or the window's end.
  /// Thread safe.
  void mark(const Run& run);

  /// The next stretch of marked bytes at or after `from`; empty at the end.
  Extent next(std::int64_t from) const;
  /// All of them, ascending.
  std::vector<Extent> extents() const;

 private:
  static int shift_of(std::int64_t grain) {
    return __builtin_ctzll(static_cast<unsigned long long>(grain));
  }
  void mark_bits(std::int64_t begin, std::int64_t end);
  std::int64_t find(std::int64_t bit, bool value) const;
  std::int64_t bits() const { return (bytes_ + (std::int64_t{1} << shift_) - 1) >> shift_; }

  std::uint64_t* words_;
  std::int64_t bytes_;
  int shift_;
};

}  // namespace choir
