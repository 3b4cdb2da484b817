// refine.cpp: improving a partition by swaps.
#include <algorithm>

#include "place/placement.hpp"

namespace choir::place {

namespace {

class Refiner {
 public:
  Refiner(const Graph& graph, Parts& parts, int part_count)
      : graph_(graph),
        parts_(parts),
        members_(static_cast<std::size_t>(part_count)),
        slot_(parts.size()),
        pull_(members_.size()) {
    for (int v = 0; v < graph.size(); ++v) {
      auto& members = members_[at(parts_[at(v)])];
      slot_[at(v)] = members.size();
      members.push_back(v);
    }
  }

  void run() {
    constexpr int most_passes = 8;
    for (int pass = 0; pass < most_passes && effort_ > 0; ++pass)
      if (!improve_all()) break;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  bool improve_all() {
    bool improved = false;
    for (int v = 0; v < graph_.size() && effort_ > 0; ++v) improved = improve(v) || improved;
    return improved;
  }

  double pull_to(int v, int part) {
    double sum = 0;
    graph_.each(v, [&](int u, double weight) {
      if (parts_[at(u)] == part) sum += weight;
    });
    effort_ -= static_cast<std::int64_t>(graph_.past(v) - graph_.first(v)) + 1;
    return sum;
  }

  /// Swaps `v` into the part that pulls it most, if a partner there makes that a gain.
  bool improve(int v) {
    const int home = parts_[at(v)];
    std::vector<int> touched;
    graph_.each(v, [&](int u, double weight) {
      const int part = parts_[at(u)];
      if (pull_[at(part)] == 0) touched.push_back(part);
      pull_[at(part)] += weight;
    });
    int best = -1;
    for (const int part : touched)
      if (part != home &&
          (best < 0 || std::pair(pull_[at(part)], -part) > std::pair(pull_[at(best)], -best)))
        best = part;
    const double gain = best < 0 ? 0 : pull_[at(best)] - pull_[at(home)];
    for (const int part : touched) pull_[at(part)] = 0;
    effort_ -= static_cast<std::int64_t>(touched.size()) + 1;
    return gain > 0 && swap_with_best(v, home, best, gain);
  }

  bool swap_with_best(int v, int home, int target, double gain) {
    int partner = -1;
    double best = 0;
    for (const int u : members_[at(target)]) {
      if (effort_ <= 0) break;
      const double total = gain + pull_to(u, home) - pull_to(u, target) - 2 * between(v, u);
      if (total > best * (1 + 1e-12) + 1e-9) {
        best = total;
        partner = u;
      }
    }
    if (partner < 0) return false;
    std::swap(parts_[at(v)], parts_[at(partner)]);
    members_[at(home)][slot_[at(v)]] = partner;
    members_[at(target)][slot_[at(partner)]] = v;
    std::swap(slot_[at(v)], slot_[at(partner)]);
    return true;
  }

  double between(int v, int u) const {
    double sum = 0;
    graph_.each(v, [&](int w, double weight) {
      if (w == u) sum += weight;
    });
    return sum;
  }

  const Graph& graph_;
  Parts& parts_;
  std::vector<std::vector<int>> members_;
  std::vector<std::size_t> slot_;
  std::vector<double> pull_;
  std::int64_t effort_ = 60'000'000;  ///< edges that may still be looked at
};

}  // namespace

void refine(const Graph& graph, Parts& parts, int part_count) {
  Refiner(graph, parts, part_count).run();
}

void arrange_groups(const Graph& graph, const Machine& machine, std::span<const int> load,
                    Parts& parts) {
  constexpr int most_nodes = 512;
  const int nodes = machine.size();
  if (machine.cost.empty() || nodes > most_nodes) return;
  const auto n = static_cast<std::size_t>(nodes);
  std::vector<double> traffic(n * n);
  for (int v = 0; v < graph.size(); ++v)
    graph.each(v, [&](int u, double weight) {
      traffic[static_cast<std::size_t>(parts[static_cast<std::size_t>(v)]) * n +
              static_cast<std::size_t>(parts[static_cast<std::size_t>(u)])] += weight;
    });
  std::vector<int> node_of(n);
  for (int g = 0; g < nodes; ++g) node_of[static_cast<std::size_t>(g)] = g;
  const auto cost_of = [&](int group) {
    double sum = 0;
    for (int other = 0; other < nodes; ++other)
      sum += traffic[static_cast<std::size_t>(group) * n + static_cast<std::size_t>(other)] *
             machine.cost_between(node_of[static_cast<std::size_t>(group)],
                                  node_of[static_cast<std::size_t>(other)]);
    return sum;
  };
  for (bool improved = true; improved;) {
    improved = false;
    for (int a = 0; a < nodes; ++a)
      for (int b = a + 1; b < nodes; ++b) {
        auto& x = node_of[static_cast<std::size_t>(a)];
        auto& y = node_of[static_cast<std::size_t>(b)];
        if (load[static_cast<std::size_t>(x)] != load[static_cast<std::size_t>(y)]) continue;
        const double before = cost_of(a) + cost_of(b);
        std::swap(x, y);
        if (cost_of(a) + cost_of(b) < before * (1 - 1e-9))
          improved = true;
        else
          std::swap(x, y);
      }
  }
  for (auto& part : parts) part = node_of[static_cast<std::size_t>(part)];
}

}  // namespace choir::place
