// scotch.cpp: libscotch's static mapping onto nodes of given load.
// scotch.h needs the two before it.
// clang-format off
#include <cstdint>
#include <cstdio>
#include <scotch.h>
// clang-format on

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "place/placement.hpp"

namespace choir::place {

namespace {

void check(int code, const char* what) {
  if (code != 0) throw std::runtime_error(std::string("scotch: ") + what + " failed");
}

/// Scotch keeps loads within a tolerance; ranks are moved from full nodes to free ones at least
/// loss.
void balance(const Graph& graph, std::span<const int> load, Parts& parts) {
  std::vector<int> excess(load.size());
  for (std::size_t p = 0; p < load.size(); ++p) excess[p] = -load[p];
  for (const int part : parts) ++excess[static_cast<std::size_t>(part)];
  const auto pull = [&](int v, int part) {
    double sum = 0;
    graph.each(v, [&](int u, double weight) {
      if (parts[static_cast<std::size_t>(u)] == part) sum += weight;
    });
    return sum;
  };
  for (std::size_t from = 0; from < excess.size(); ++from) {
    while (excess[from] > 0) {
      int best = -1, best_to = -1;
      double best_gain = 0;
      for (int v = 0; v < graph.size(); ++v) {
        if (parts[static_cast<std::size_t>(v)] != static_cast<int>(from)) continue;
        const double stay = pull(v, static_cast<int>(from));
        for (std::size_t to = 0; to < excess.size(); ++to) {
          if (excess[to] >= 0) continue;
          const double gain = pull(v, static_cast<int>(to)) - stay;
          if (best >= 0 && gain <= best_gain) continue;
          best = v;
          best_to = static_cast<int>(to);
          best_gain = gain;
        }
      }
      parts[static_cast<std::size_t>(best)] = best_to;
      --excess[from];
      ++excess[static_cast<std::size_t>(best_to)];
    }
  }
}

struct ScotchGraph {
  ScotchGraph() { check(SCOTCH_graphInit(&graph), "graphInit"); }
  ~ScotchGraph() { SCOTCH_graphExit(&graph); }
  ScotchGraph(const ScotchGraph&) = delete;
  ScotchGraph& operator=(const ScotchGraph&) = delete;
  SCOTCH_Graph graph;
};
struct ScotchArch {
  ScotchArch() { check(SCOTCH_archInit(&arch), "archInit"); }
  ~ScotchArch() { SCOTCH_archExit(&arch); }
  ScotchArch(const ScotchArch&) = delete;
  ScotchArch& operator=(const ScotchArch&) = delete;
  SCOTCH_Arch arch;
};
struct ScotchStrategy {
  ScotchStrategy() { check(SCOTCH_stratInit(&strategy), "stratInit"); }
  ~ScotchStrategy() { SCOTCH_stratExit(&strategy); }
  ScotchStrategy(const ScotchStrategy&) = delete;
  ScotchStrategy& operator=(const ScotchStrategy&) = delete;
  SCOTCH_Strat strategy;
};

Parts map(const Graph& graph, std::span<const int> load) {
  // Scotch adds up weights in 32 bits.
  const double sum = std::accumulate(graph.weight.begin(), graph.weight.end(), 0.0);
  const double scale = std::max(1.0, sum / 1e9);
  std::vector<SCOTCH_Num> begin(graph.begin.begin(), graph.begin.end());
  std::vector<SCOTCH_Num> to(graph.to.begin(), graph.to.end());
  std::vector<SCOTCH_Num> weight(graph.weight.size());
  for (std::size_t e = 0; e < weight.size(); ++e)
    weight[e] = static_cast<SCOTCH_Num>(std::max(1LL, std::llround(graph.weight[e] / scale)));
  ScotchGraph app;
  check(SCOTCH_graphBuild(&app.graph, 0, graph.size(), begin.data(), nullptr, nullptr, nullptr,
                          static_cast<SCOTCH_Num>(to.size()), to.data(), weight.data()),
        "graphBuild");
  std::vector<int> used;  // scotch wants no part of weight zero
  std::vector<SCOTCH_Num> sizes;
  for (std::size_t p = 0; p < load.size(); ++p) {
    if (load[p] == 0) continue;
    used.push_back(static_cast<int>(p));
    sizes.push_back(load[p]);
  }
  if (used.size() == 1) return Parts(static_cast<std::size_t>(graph.size()), used.front());
  ScotchArch machine;
  check(SCOTCH_archCmpltw(&machine.arch, static_cast<SCOTCH_Num>(sizes.size()), sizes.data()),
        "archCmpltw");
  ScotchStrategy how;
  check(SCOTCH_stratGraphMapBuild(&how.strategy, SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE,
                                  static_cast<SCOTCH_Num>(sizes.size()), 0.001),
        "stratGraphMapBuild");
  SCOTCH_randomReset();
  std::vector<SCOTCH_Num> mapped(static_cast<std::size_t>(graph.size()));
  check(SCOTCH_graphMap(&app.graph, &machine.arch, &how.strategy, mapped.data()), "graphMap");
  Parts parts;
  parts.reserve(mapped.size());
  for (const auto part : mapped) parts.push_back(used.at(static_cast<std::size_t>(part)));
  return parts;
}

}  // namespace

Parts scotch(const Problem& problem) {
  auto parts = map(problem.graph, problem.load);
  balance(problem.graph, problem.load, parts);
  arrange_groups(problem.graph, problem.machine, problem.load, parts);
  return parts;
}

}  // namespace choir::place
