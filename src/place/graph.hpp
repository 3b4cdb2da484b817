// graph.hpp: the application matrix as the placement algorithms see it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "place/pair_sums.hpp"
#include "place/recording.hpp"

namespace choir::place {

/// Undirected and weighted, in compressed rows; every edge is stored at both ends.
struct Graph {
  std::vector<std::int64_t> begin{0};
  std::vector<std::int32_t> to;
  std::vector<double> weight;

  int size() const { return static_cast<int>(begin.size()) - 1; }
  std::size_t first(int v) const {
    return static_cast<std::size_t>(begin[static_cast<std::size_t>(v)]);
  }
  std::size_t past(int v) const {
    return static_cast<std::size_t>(begin[static_cast<std::size_t>(v) + 1]);
  }
  /// visit(neighbour, weight)
  template <class Visit>
  void each(int v, Visit&& visit) const {
    for (auto e = first(v); e < past(v); ++e) visit(static_cast<int>(to[e]), weight[e]);
  }
  double heaviest() const;
};

Graph graph_of(const PairSums& sums, int ranks);

/// The graph of `members` only; vertex i is members[i].
Graph subgraph(const Graph& graph, std::span<const int> members);

/// Weight of the edges between different parts.
double cut_weight(const Graph& graph, std::span<const int> part_of);

/// Per rank, where its bytes lie in its files on average, 0 to 1; by rank number if nothing is
/// known.
std::vector<double> positions_of(const Recording& recording);

}  // namespace choir::place
