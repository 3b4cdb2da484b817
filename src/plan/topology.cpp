#include "plan/topology.hpp"

#include <unordered_map>

namespace choir {

std::vector<int> nodes_of(std::span<const std::uint64_t> keys, int ranks_per_node) {
  struct Filling {
    int node = 0;
    int ranks = 0;
  };
  std::unordered_map<std::uint64_t, Filling> of_key;
  std::vector<int> node_of;
  node_of.reserve(keys.size());
  int nodes = 0;
  for (const auto key : keys) {
    auto& filling = of_key[key];
    const bool full = ranks_per_node > 0 && filling.ranks == ranks_per_node;
    if (filling.ranks == 0 || full) filling = {nodes++, 0};
    ++filling.ranks;
    node_of.push_back(filling.node);
  }
  return node_of;
}

Topology::Topology(const std::vector<int>& node_of, int cores_per_node)
    : node_of_(node_of.size()), cores_per_node_(cores_per_node < 1 ? 1 : cores_per_node) {
  std::unordered_map<int, int> numbers;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
    const auto [found, fresh] =
        numbers.try_emplace(node_of[rank], static_cast<int>(numbers.size()));
    if (fresh) ranks_of_.emplace_back();
    node_of_[rank] = found->second;
    ranks_of_[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(rank));
  }
}

}  // namespace choir
