// ranges.cpp: each rank on the node that aggregates most of its bytes.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "place/placement.hpp"

namespace choir::place {

namespace {

struct Wish {
  double bytes;
  int rank;
  int node;
};

/// Bytes of each rank in each node's share of the file, heaviest first.
std::vector<Wish> wishes_of(const Problem& problem) {
  std::vector<double> cut{0};
  for (const int load : problem.load)
    cut.push_back(cut.back() + static_cast<double>(load) / problem.ranks());
  const int nodes = problem.machine.size();
  std::vector<double> bytes(static_cast<std::size_t>(nodes));
  std::vector<Wish> wishes;
  for (int rank = 0; rank < problem.ranks(); ++rank) {
    std::vector<int> touched;
    for (const auto& pattern : problem.recording.patterns) {
      const auto span = static_cast<double>(pattern.span);
      for (const auto& run : pattern.runs.of(rank)) {
        const auto above =
            std::upper_bound(cut.begin(), cut.end(), static_cast<double>(run.offset) / span);
        auto node = std::min(nodes - 1, static_cast<int>(above - cut.begin()) - 1);
        for (; node < nodes &&
               cut[static_cast<std::size_t>(node)] * span < static_cast<double>(end_of(run));
             ++node) {
          const auto at = static_cast<std::size_t>(node);
          const auto part =
              bytes_between(run, std::llround(cut[at] * span), std::llround(cut[at + 1] * span));
          if (part == 0) continue;
          if (bytes[at] == 0) touched.push_back(node);
          bytes[at] += static_cast<double>(part) * static_cast<double>(pattern.times);
        }
      }
    }
    for (const int node : touched)
      wishes.push_back({std::exchange(bytes[static_cast<std::size_t>(node)], 0.0), rank, node});
  }
  std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) {
    return std::tuple(-a.bytes, a.rank, a.node) < std::tuple(-b.bytes, b.rank, b.node);
  });
  return wishes;
}

/// Ranks that found no room: in file order to the nodes that still have some.
void place_rest(const Problem& problem, std::vector<int>& free, Parts& parts) {
  std::vector<int> rest;
  for (int rank = 0; rank < problem.ranks(); ++rank)
    if (parts[static_cast<std::size_t>(rank)] < 0) rest.push_back(rank);
  std::stable_sort(rest.begin(), rest.end(), [&](int a, int b) {
    return problem.position[static_cast<std::size_t>(a)] <
           problem.position[static_cast<std::size_t>(b)];
  });
  std::size_t node = 0;
  for (const int rank : rest) {
    while (free[node] == 0) ++node;
    --free[node];
    parts[static_cast<std::size_t>(rank)] = static_cast<int>(node);
  }
}

}  // namespace

Parts by_file_ranges(const Problem& problem) {
  Parts parts(static_cast<std::size_t>(problem.ranks()), -1);
  auto free = problem.load;
  for (const auto& wish : wishes_of(problem)) {
    auto& part = parts[static_cast<std::size_t>(wish.rank)];
    auto& room = free[static_cast<std::size_t>(wish.node)];
    if (part >= 0 || room == 0) continue;
    part = wish.node;
    --room;
  }
  place_rest(problem, free, parts);
  return parts;
}

}  // namespace choir::place
