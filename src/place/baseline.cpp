// baseline.cpp: what launchers do by themselves.
#include <algorithm>
#include <stdexcept>

#include "place/placement.hpp"

namespace choir::place {

Parts byslot(const Machine& machine, int ranks, bool oversubscribe) {
  const auto load = loads(machine, ranks, Fill::packed, oversubscribe);
  Parts parts;
  for (int node = 0; node < machine.size(); ++node)
    parts.insert(parts.end(), static_cast<std::size_t>(load[static_cast<std::size_t>(node)]), node);
  return parts;
}

Parts bynode(const Machine& machine, int ranks, bool oversubscribe) {
  auto free = loads(machine, machine.cores(), Fill::packed);
  if (ranks > machine.cores()) free = loads(machine, ranks, Fill::spread, oversubscribe);
  Parts parts;
  parts.reserve(static_cast<std::size_t>(ranks));
  while (static_cast<int>(parts.size()) < ranks)
    for (int node = 0; node < machine.size() && static_cast<int>(parts.size()) < ranks; ++node)
      if (free[static_cast<std::size_t>(node)]-- > 0) parts.push_back(node);
  return parts;
}

Placement with_cores(const Machine& machine, Parts node_of, bool packed) {
  const auto nodes = static_cast<std::size_t>(machine.size());
  std::vector<std::int64_t> load(nodes), next(nodes);
  for (const int node : node_of) ++load[static_cast<std::size_t>(node)];
  Placement placement;
  placement.core_of.reserve(node_of.size());
  for (const int node : node_of) {
    const auto at = static_cast<std::size_t>(node);
    const std::int64_t cores = machine.nodes[at].cores;
    const auto k = next[at]++;
    placement.core_of.push_back(
        static_cast<int>(packed || load[at] >= cores ? k % cores : k * cores / load[at]));
  }
  placement.node_of = std::move(node_of);
  return placement;
}

}  // namespace choir::place
