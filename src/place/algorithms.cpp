// algorithms.cpp: the one visible table of placement algorithms.
#include <array>
#include <stdexcept>

#include "place/placement.hpp"

namespace choir::place {

namespace {

Placement finish(const Problem& problem, Parts parts) {
  return with_cores(problem.machine, std::move(parts));
}

SetMatchInput setmatch_input(const Problem& problem, bool special) {
  return {problem.graph, problem.load, problem.position, problem.significance,
          special ? std::span<const int>(problem.given_set) : std::span<const int>()};
}

Placement place_setmatch(const Problem& problem) {
  auto parts = setmatch(setmatch_input(problem, true));
  arrange_groups(problem.graph, problem.machine, problem.load, parts);
  return finish(problem, std::move(parts));
}

Placement place_generalised(const Problem& problem) {
  auto parts = setmatch_generalised(setmatch_input(problem, false));
  arrange_groups(problem.graph, problem.machine, problem.load, parts);
  return finish(problem, std::move(parts));
}

Placement place_ranges(const Problem& problem) { return finish(problem, by_file_ranges(problem)); }
Placement place_mpipp(const Problem& problem) { return finish(problem, mpipp(problem)); }
Placement place_scotch(const Problem& problem) { return finish(problem, scotch(problem)); }

const std::array table{
    Algorithm{"setmatch", "sets of neighbours matched to nodes (thesis, Algorithms 1-4)", 1 << 30,
              place_setmatch},
    Algorithm{"setmatchg", "setmatch at several significances, improved by swaps", 200'000,
              place_generalised},
    Algorithm{"ranges", "each rank where most of its bytes are aggregated", 200'000, place_ranges},
    Algorithm{"treematch", "several levels: nodes, sockets, caches, cores", 20'000, treematch},
    Algorithm{"scotch", "libscotch's static mapping", 20'000, place_scotch},
    Algorithm{"mpipp", "k-way swaps from a random start, for comparison", 256, place_mpipp},
};

}  // namespace

std::span<const Algorithm> algorithms() { return table; }

const Algorithm& algorithm(const std::string& name) {
  std::string known;
  for (const auto& entry : table) {
    if (entry.name == name) return entry;
    known += " " + entry.name;
  }
  throw std::invalid_argument("unknown algorithm '" + name + "'; known:" + known +
                              " byslot bynode auto");
}

}  // namespace choir::place
