// access_run.hpp: what a rank asks of a file, as the recorder is told it.
//
// Pure values; the preloaded runtime converts its own runs to these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace choir::place {

/// `count` blocks of `length` bytes, `stride` apart. All in bytes.
struct AccessRun {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;
  std::int64_t count = 1;

  bool operator==(const AccessRun&) const = default;
};

/// Bytes of the run below file position `position`. Blocks must not overlap each other.
constexpr std::int64_t bytes_below(const AccessRun& run, std::int64_t position) {
  if (position <= run.offset) return 0;
  const auto distance = position - run.offset;
  if (run.count == 1) return std::min(distance, run.length);
  const auto block = distance / run.stride;
  if (block >= run.count) return run.length * run.count;
  return block * run.length + std::min(run.length, distance - block * run.stride);
}

constexpr std::int64_t bytes_between(const AccessRun& run, std::int64_t begin, std::int64_t end) {
  return end <= begin ? 0 : bytes_below(run, end) - bytes_below(run, begin);
}
static_assert(bytes_between({0, 2, 10, 3}, 1, 21) == 4);

/// One past the run's last byte.
constexpr std::int64_t end_of(const AccessRun& run) {
  return run.offset + (run.count - 1) * run.stride + run.length;
}

/// The runs of all ranks of one call in one array: rank r has runs [first[r], first[r + 1]).
struct GatheredRuns {
  std::vector<std::int64_t> first{0};
  std::vector<AccessRun> runs;

  int ranks() const { return static_cast<int>(first.size()) - 1; }
  std::span<const AccessRun> of(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return std::span(runs).subspan(static_cast<std::size_t>(first[at]),
                                   static_cast<std::size_t>(first[at + 1] - first[at]));
  }
  /// The next rank's runs; call once per rank, in rank order.
  void append_rank(std::span<const AccessRun> of_rank) {
    runs.insert(runs.end(), of_rank.begin(), of_rank.end());
    first.push_back(static_cast<std::int64_t>(runs.size()));
  }
  bool operator==(const GatheredRuns&) const = default;
};

}  // namespace choir::place
