// topology.hpp: which ranks share a node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace choir {

/// Per rank, the number of its node: ranks with equal keys share one. `ranks_per_node` > 0 cuts
/// nodes into imaginary ones of that many ranks. Nodes are numbered by their first rank.
std::vector<int> nodes_of(std::span<const std::uint64_t> keys, int ranks_per_node = 0);

class Topology {
 public:
  Topology() = default;
  /// `node_of[r]` is any number that is equal for ranks of one node; nodes are renumbered by their
  /// first rank.
  explicit Topology(const std::vector<int>& node_of, int cores_per_node);

  int ranks() const { return static_cast<int>(node_of_.size()); }
  int nodes() const { return static_cast<int>(ranks_of_.size()); }
  int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& ranks_of(int node) const {
    return ranks_of_[static_cast<std::size_t>(node)];
  }
  int cores_per_node() const { return cores_per_node_; }

 private:
  std::vector<int> node_of_;
  std::vector<std::vector<int>> ranks_of_;
  int cores_per_node_ = 1;
};

}  // namespace choir
