// placement.hpp: which rank runs where, and the algorithms that decide it.
//
// Every algorithm is a pure function of a Problem: equal input gives an equal placement.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "place/graph.hpp"
#include "place/machine.hpp"
#include "place/recording.hpp"

namespace choir::place {

struct Placement {
  std::vector<int> node_of;  ///< per rank
  std::vector<int> core_of;  ///< per rank, within its node
  bool operator==(const Placement&) const = default;
};

/// What there is to place, and where.
struct Problem {
  const Recording& recording;
  const Graph& graph;
  const std::vector<double>& position;  ///< per rank, where its bytes lie in the file, 0 to 1
  const Machine& machine;
  std::vector<int> load;  ///< ranks per node
  double significance =
      0.1;  ///< weights below this part of the heaviest are ignored (thesis: 10 %)
  /// Known sets (ranks of one row of a decomposition), per rank; empty: found in the graph.
  std::vector<int> given_set = {};
  std::uint64_t seed = 1;  ///< of mpipp's random starts
  int mpipp_passes = 4;

  int ranks() const { return graph.size(); }
};

/// Parts for a graph whose part p takes exactly load[p] vertices.
using Parts = std::vector<int>;

Parts byslot(const Machine& machine, int ranks, bool oversubscribe = false);
Parts bynode(const Machine& machine, int ranks, bool oversubscribe = false);

/// Algorithms 1-4 of the thesis. Sets of ranks with significant weights, merged until independent,
/// each matched to the part it fits best; sets that fit nowhere are split along their heaviest
/// weights.
struct SetMatchInput {
  const Graph& graph;
  std::span<const int> load;
  std::span<const double> position;
  double significance = 0.1;
  std::span<const int> given_set = {};
};
Parts setmatch(const SetMatchInput& in);
/// Algorithms 2 and 3: per vertex, the number of its independent set.
std::vector<int> independent_sets(const Graph& graph, double least_weight);
/// Setmatch at several significances, each improved by swaps; the lightest cut wins.
Parts setmatch_generalised(const SetMatchInput& in);

/// Swaps pairs of vertices while that lightens the cut, within a bounded effort.
void refine(const Graph& graph, Parts& parts, int part_count);
/// Swaps whole groups between nodes of equal load while that lowers the cost over unequal links.
void arrange_groups(const Graph& graph, const Machine& machine, std::span<const int> load,
                    Parts& parts);

/// k-way swaps from a random start (MPIPP). Cubic in the ranks: at most `mpipp_most_ranks`.
inline constexpr int mpipp_most_ranks = 4096;
Parts mpipp(const Problem& problem);

/// libscotch's static mapping, then moved to the exact loads.
Parts scotch(const Problem& problem);

/// Each rank on the node whose share of the file, in file order, holds most of its bytes.
Parts by_file_ranges(const Problem& problem);

/// Several levels: nodes, then the levels inside each node, down to cores. Exact core numbers.
Placement treematch(const Problem& problem);

/// Cores for ranks whose nodes are known: in rank order, spread over the node's cores.
Placement with_cores(const Machine& machine, Parts node_of, bool packed = false);

struct Algorithm {
  std::string name;
  std::string summary;
  int most_ranks;  ///< `auto` does not try it above this
  Placement (*place)(const Problem&);
};
/// All but the baselines and `auto`.
std::span<const Algorithm> algorithms();
/// Throws std::invalid_argument naming the known algorithms.
const Algorithm& algorithm(const std::string& name);

}  // namespace choir::place
