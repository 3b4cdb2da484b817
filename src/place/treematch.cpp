// treematch.cpp: placement over several levels, each partitioned by setmatch: nodes, sockets,
// caches, cores.
#include <algorithm>

#include "place/placement.hpp"

namespace choir::place {

namespace {

class Tree {
 public:
  Tree(const Problem& problem, Placement& placement) : problem_(problem), placement_(placement) {}

  /// Puts `members` on cores [first, first + cores) of their node, level by level.
  void descend(const std::vector<int>& members, int first, int cores, std::size_t level) {
    if (members.empty()) return;
    if (members.size() == 1 || cores == 1 || level == problem_.machine.levels.size()) {
      seat(members, first, cores);
      return;
    }
    const auto units = split_cores(cores, problem_.machine.levels[level].arity);
    const auto groups = divide(members, share(static_cast<int>(members.size()), units));
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
      descend(groups[unit], first, units[unit], level + 1);
      first += units[unit];
    }
  }

 private:
  static std::vector<int> split_cores(int cores, int arity) {
    return share(cores, std::vector<int>(static_cast<std::size_t>(std::min(arity, cores)), 1));
  }

  /// The last level: evenly over the cores, neighbours in the file beside each other.
  void seat(std::vector<int> members, int first, int cores) {
    std::sort(members.begin(), members.end(),
              [&](int a, int b) { return position(a) < position(b); });
    const auto count = static_cast<std::int64_t>(members.size());
    for (std::int64_t k = 0; k < count; ++k)
      placement_.core_of[static_cast<std::size_t>(members[static_cast<std::size_t>(k)])] =
          first + static_cast<int>(count <= cores ? k * cores / count : k % cores);
  }

  std::pair<double, int> position(int rank) const {
    return {problem_.position[static_cast<std::size_t>(rank)], rank};
  }

  std::vector<std::vector<int>> divide(const std::vector<int>& members,
                                       const std::vector<int>& load) const {
    const auto graph = subgraph(problem_.graph, members);
    std::vector<double> where;
    where.reserve(members.size());
    for (const int rank : members) where.push_back(position(rank).first);
    const auto parts = setmatch_generalised({graph, load, where, problem_.significance, {}});
    std::vector<std::vector<int>> groups(load.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      groups[static_cast<std::size_t>(parts[i])].push_back(members[i]);
    return groups;
  }

  const Problem& problem_;
  Placement& placement_;
};

}  // namespace

Placement treematch(const Problem& problem) {
  Placement placement;
  placement.node_of = setmatch_generalised(
      {problem.graph, problem.load, problem.position, problem.significance, {}});
  arrange_groups(problem.graph, problem.machine, problem.load, placement.node_of);
  placement.core_of.resize(placement.node_of.size());
  std::vector<std::vector<int>> members(problem.machine.nodes.size());
  for (int rank = 0; rank < problem.ranks(); ++rank)
    members[static_cast<std::size_t>(placement.node_of[static_cast<std::size_t>(rank)])].push_back(
        rank);
  Tree tree(problem, placement);
  for (std::size_t node = 0; node < members.size(); ++node)
    tree.descend(members[node], 0, problem.machine.nodes[node].cores, 0);
  return placement;
}

}  // namespace choir::place
