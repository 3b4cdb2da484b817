// mpipp.cpp: k-way swaps from a random start, as MPIPP does, for comparison.
//
// In a pass the best swap of two unlocked ranks is made, even a losing one, and both are locked,
// until none is left; then the best point of the pass is returned to. Cubic time, quadratic in
// memory.
#include <algorithm>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

#include "place/placement.hpp"

namespace choir::place {

namespace {

class KWay {
 public:
  KWay(const Graph& graph, const Machine& machine, Parts start)
      : graph_(graph),
        machine_(machine),
        parts_(std::move(start)),
        nodes_(static_cast<std::size_t>(machine.size())),
        cost_(parts_.size() * nodes_) {
    for (int v = 0; v < graph.size(); ++v)
      graph.each(v, [&](int u, double weight) { attract(v, parts_[at(u)], weight); });
  }

  /// One pass; true if it helped.
  bool pass() {
    std::vector<char> locked(parts_.size());
    std::vector<std::pair<int, int>> swaps;
    double sum = 0, best_sum = 0;
    std::size_t best_length = 0;
    for (std::size_t step = 0; step < parts_.size() / 2; ++step) {
      const auto [v, u, gain] = best_swap(locked);
      if (v < 0) break;
      swap(v, u);
      locked[at(v)] = locked[at(u)] = 1;
      swaps.emplace_back(v, u);
      sum += gain;
      if (sum > best_sum * (1 + 1e-12) + 1e-9) {
        best_sum = sum;
        best_length = swaps.size();
      }
    }
    while (swaps.size() > best_length) {
      swap(swaps.back().first, swaps.back().second);
      swaps.pop_back();
    }
    return best_length > 0;
  }

  Parts take() { return std::move(parts_); }

 private:
  struct Swap {
    int v = -1;
    int u = -1;
    double gain = -std::numeric_limits<double>::infinity();
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  double& cost(int v, int node) { return cost_[at(v) * nodes_ + at(node)]; }

  /// `v` pays `weight` for each unit of distance to `node`.
  void attract(int v, int node, double weight) {
    for (int n = 0; n < machine_.size(); ++n) cost(v, n) += weight * machine_.cost_between(n, node);
  }

  double between(int v, int u) const {
    const auto begin = graph_.to.begin() + static_cast<std::ptrdiff_t>(graph_.first(v));
    const auto end = graph_.to.begin() + static_cast<std::ptrdiff_t>(graph_.past(v));
    const auto found = std::lower_bound(begin, end, u);
    return found == end || *found != u
               ? 0
               : graph_.weight[static_cast<std::size_t>(found - graph_.to.begin())];
  }

  Swap best_swap(const std::vector<char>& locked) {
    Swap best;
    for (int v = 0; v < graph_.size(); ++v) {
      if (locked[at(v)]) continue;
      const int a = parts_[at(v)];
      for (int u = v + 1; u < graph_.size(); ++u) {
        const int b = parts_[at(u)];
        if (locked[at(u)] || a == b) continue;
        double gain = cost(v, a) - cost(v, b) + cost(u, b) - cost(u, a);
        if (gain <= best.gain) continue;  // the correction below only lowers it
        gain -= between(v, u) * (machine_.cost_between(a, b) + machine_.cost_between(b, a));
        if (gain > best.gain) best = {v, u, gain};
      }
    }
    return best;
  }

  void swap(int v, int u) {
    const int a = parts_[at(v)], b = parts_[at(u)];
    graph_.each(v, [&](int w, double weight) {
      attract(w, a, -weight);
      attract(w, b, weight);
    });
    graph_.each(u, [&](int w, double weight) {
      attract(w, b, -weight);
      attract(w, a, weight);
    });
    std::swap(parts_[at(v)], parts_[at(u)]);
  }

  const Graph& graph_;
  const Machine& machine_;
  Parts parts_;
  std::size_t nodes_;
  std::vector<double> cost_;  ///< per rank and node: what the rank would pay there
};

}  // namespace

Parts mpipp(const Problem& problem) {
  if (problem.ranks() > mpipp_most_ranks)
    throw std::invalid_argument("mpipp takes cubic time and is limited to " +
                                std::to_string(mpipp_most_ranks) + " ranks, not " +
                                std::to_string(problem.ranks()));
  Parts start;
  for (std::size_t node = 0; node < problem.load.size(); ++node)
    start.insert(start.end(), static_cast<std::size_t>(problem.load[node]), static_cast<int>(node));
  std::mt19937_64 random(problem.seed);
  for (std::size_t i = start.size(); i > 1; --i) std::swap(start[i - 1], start[random() % i]);
  KWay search(problem.graph, problem.machine, std::move(start));
  for (int pass = 0; pass < problem.mpipp_passes; ++pass)
    if (!search.pass()) break;
  return search.take();
}

}  // namespace choir::place
