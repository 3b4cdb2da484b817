#include "place/graph.hpp"

#include <algorithm>

namespace choir::place {

double Graph::heaviest() const {
  return weight.empty() ? 0 : *std::max_element(weight.begin(), weight.end());
}

Graph graph_of(const PairSums& sums, int ranks) {
  auto matrix = compress(sums, ranks);
  Graph graph;
  graph.begin = std::move(matrix.row_begin);
  graph.to = std::move(matrix.column);
  graph.weight.assign(matrix.bytes.begin(), matrix.bytes.end());
  return graph;
}

Graph subgraph(const Graph& graph, std::span<const int> members) {
  std::vector<std::pair<int, int>>
      number;  // (vertex, its index), for a search that costs per member only
  number.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i)
    number.emplace_back(members[i], static_cast<int>(i));
  std::sort(number.begin(), number.end());
  Graph result;
  for (const int v : members) {
    graph.each(v, [&](int u, double weight) {
      const auto at = std::lower_bound(number.begin(), number.end(), std::pair{u, 0});
      if (at == number.end() || at->first != u) return;
      result.to.push_back(at->second);
      result.weight.push_back(weight);
    });
    result.begin.push_back(static_cast<std::int64_t>(result.to.size()));
  }
  return result;
}

double cut_weight(const Graph& graph, std::span<const int> part_of) {
  double twice = 0;
  for (int v = 0; v < graph.size(); ++v)
    graph.each(v, [&](int u, double weight) {
      if (part_of[static_cast<std::size_t>(u)] != part_of[static_cast<std::size_t>(v)])
        twice += weight;
    });
  return twice / 2;
}

std::vector<double> positions_of(const Recording& recording) {
  const auto ranks = static_cast<std::size_t>(recording.ranks);
  std::vector<double> sum(ranks), bytes(ranks);
  for (const auto& pattern : recording.patterns) {
    if (pattern.span == 0) continue;
    for (int rank = 0; rank < recording.ranks; ++rank) {
      for (const auto& run : pattern.runs.of(rank)) {
        const double weight = static_cast<double>(run.length) * static_cast<double>(run.count) *
                              static_cast<double>(pattern.times);
        const double centre =
            (static_cast<double>(run.offset) + static_cast<double>(end_of(run))) / 2;
        sum[static_cast<std::size_t>(rank)] += weight * centre / static_cast<double>(pattern.span);
        bytes[static_cast<std::size_t>(rank)] += weight;
      }
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank)
    sum[rank] = bytes[rank] > 0 ? sum[rank] / bytes[rank]
                                : static_cast<double>(rank) / static_cast<double>(ranks);
  return sum;
}

}  // namespace choir::place
