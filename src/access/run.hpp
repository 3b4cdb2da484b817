// run.hpp: runs, the unit in which choir speaks of bytes.
//
// A run is `count` blocks of `length` bytes, `stride` apart. A vector, a row of a subarray or a
// checkpoint block is one run, never a list of its pieces. Pure: no MPI.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace choir {

/// Bytes [begin, end).
struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  constexpr std::int64_t size() const { return end - begin; }
  constexpr bool empty() const { return end <= begin; }
  bool operator==(const Extent&) const = default;
};

constexpr Extent intersect(Extent a, Extent b) {
  const auto begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}
static_assert(intersect({0, 8}, {4, 12}) == Extent{4, 8});

/// `count` blocks of `length` bytes, `stride` apart. In memory a stride may be negative; in a file
/// never.
struct Run {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;
  std::int64_t count = 1;

  constexpr std::int64_t bytes() const { return length * count; }
  constexpr std::int64_t block(std::int64_t i) const { return offset + i * stride; }
  /// The last block's end; the run's highest byte when the stride is not negative.
  constexpr std::int64_t end() const { return block(count - 1) + length; }
  bool operator==(const Run&) const = default;
};

using Runs = std::vector<Run>;

/// Adds `next` at the end of `runs`, joined with the last run where one run can say both.
void append(Runs& runs, Run next);

/// Adds `times` copies of `pattern`, `stride` apart and shifted by `at`.
void append_repeated(Runs& runs, const Runs& pattern, std::int64_t at, std::int64_t times,
                     std::int64_t stride);

/// The part of `run` that holds its bytes [begin, end): at most a cut block, a run, and a cut
/// block.
template <class Visit>
void visit_part(const Run& run, std::int64_t begin, std::int64_t end, Visit&& visit) {
  if (begin >= end) return;
  std::int64_t block = begin / run.length;
  const std::int64_t skipped = begin - block * run.length;
  if (skipped > 0) {
    const auto length = std::min(run.length - skipped, end - begin);
    visit(Run{run.block(block) + skipped, length, 0, 1});
    begin += length;
    ++block;
  }
  const std::int64_t whole = (end - begin) / run.length;
  if (whole > 0) {
    visit(Run{run.block(block), run.length, whole > 1 ? run.stride : 0, whole});
    begin += whole * run.length;
    block += whole;
  }
  if (begin < end) visit(Run{run.block(block), end - begin, 0, 1});
}

}  // namespace choir
