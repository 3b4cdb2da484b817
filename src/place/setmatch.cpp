// setmatch.cpp: SetMatch, Algorithms 1-4 of the thesis, in time and memory about linear in the
// matrix.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <set>
#include <stdexcept>
#include <tuple>

#include "place/placement.hpp"

namespace choir::place {

namespace {

class UnionFind {
 public:
  explicit UnionFind(int size) : parent_(static_cast<std::size_t>(size)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int root(int v) {
    while (parent(v) != v) v = parent(v) = parent(parent(v));
    return v;
  }
  void join(int a, int b) { parent(root(std::max(a, b))) = root(std::min(a, b)); }

 private:
  int& parent(int v) { return parent_[static_cast<std::size_t>(v)]; }
  std::vector<int> parent_;
};

/// Ranks that belong together, in file order; `next` skips those already mapped.
struct AppSet {
  std::vector<int> members;
  std::size_t next = 0;
  int left = 0;
};

std::vector<AppSet> gather_sets(const std::vector<int>& set_of, std::span<const double> position) {
  std::vector<int> order(set_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
    return std::tie(position[x], a) < std::tie(position[y], b);
  });
  std::vector<AppSet> sets(
      set_of.empty()
          ? 0
          : static_cast<std::size_t>(*std::max_element(set_of.begin(), set_of.end())) + 1);
  for (const int v : order)
    sets[static_cast<std::size_t>(set_of[static_cast<std::size_t>(v)])].members.push_back(v);
  for (auto& set : sets) set.left = static_cast<int>(set.members.size());
  std::erase_if(sets, [](const AppSet& set) { return set.left == 0; });
  // File order, so that sets of equal size are matched in the order of their data.
  std::stable_sort(sets.begin(), sets.end(), [&](const AppSet& a, const AppSet& b) {
    return position[static_cast<std::size_t>(a.members.front())] <
           position[static_cast<std::size_t>(b.members.front())];
  });
  return sets;
}

/// Algorithm 4. Architecture sets are the parts with their free slots; both lists stay sorted by
/// size.
class Matcher {
 public:
  Matcher(const SetMatchInput& in, std::vector<AppSet> sets)
      : in_(in),
        sets_(std::move(sets)),
        part_of_(static_cast<std::size_t>(in.graph.size()), -1),
        set_of_(part_of_.size(), -1),
        gain_(part_of_.size()),
        stamp_(part_of_.size(), -1),
        free_(in.load.begin(), in.load.end()),
        pull_(free_.size()) {
    for (std::size_t s = 0; s < sets_.size(); ++s)
      for (const int v : sets_[s].members) set_of_[at(v)] = static_cast<int>(s);
  }

  Parts match() {
    for (std::size_t s = 0; s < sets_.size(); ++s)
      by_size_.emplace(-sets_[s].left, static_cast<int>(s));
    for (std::size_t p = 0; p < free_.size(); ++p)
      if (free_[p] > 0) parts_.emplace(free_[p], -static_cast<int>(p));
    while (!by_size_.empty()) {
      const int set = by_size_.begin()->second;
      by_size_.erase(by_size_.begin());
      auto& of = sets_[at(set)];
      const auto [most, negative] = *parts_.rbegin();
      if (of.left <= most)
        map_whole(of, fitting_part(of));
      else
        map_fragment(of, set, -negative, most);
      if (of.left > 0) by_size_.emplace(-of.left, set);
    }
    return part_of_;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void take(int part, int slots) {
    parts_.erase({free_[at(part)], -part});
    free_[at(part)] -= slots;
    if (free_[at(part)] > 0) parts_.emplace(free_[at(part)], -part);
  }

  /// The part that already holds the set's closest neighbours and has room; else the tightest fit.
  int fitting_part(const AppSet& set) {
    std::vector<int> touched;
    for (auto i = set.next; i < set.members.size(); ++i) {
      if (part_of_[at(set.members[i])] >= 0) continue;
      in_.graph.each(set.members[i], [&](int u, double weight) {
        const int part = part_of_[at(u)];
        if (part < 0 || free_[at(part)] < set.left) return;
        if (pull_[at(part)] == 0) touched.push_back(part);
        pull_[at(part)] += weight;
      });
    }
    int best = -1;
    for (const int part : touched)
      if (best < 0 || std::pair(pull_[at(part)], -part) > std::pair(pull_[at(best)], -best))
        best = part;
    for (const int part : touched) pull_[at(part)] = 0;
    if (best >= 0) return best;
    const auto tightest = parts_.lower_bound({set.left, std::numeric_limits<int>::min()});
    const auto last_equal = std::prev(parts_.upper_bound({tightest->first, 0}));
    return -last_equal->second;  // of equal parts, the lowest number
  }

  void map_whole(AppSet& set, int part) {
    int mapped = 0;
    for (; set.next < set.members.size(); ++set.next) {
      const int v = set.members[set.next];
      if (part_of_[at(v)] >= 0) continue;
      part_of_[at(v)] = part;
      ++mapped;
    }
    set.left = 0;
    take(part, mapped);
  }

  /// Grows a fragment of the set from its first rank in the file along the heaviest weights to the
  /// fragment, so that what is cut off is light.
  void map_fragment(AppSet& set, int number, int part, int size) {
    std::priority_queue<std::tuple<double, double, int>>
        border;  // gain, earlier in the file first, rank
    const auto map = [&](int v) {
      part_of_[at(v)] = part;
      in_.graph.each(v, [&](int u, double weight) {
        if (part_of_[at(u)] >= 0 || set_of_[at(u)] != number) return;
        if (stamp_[at(u)] != part) gain_[at(u)] = 0;
        stamp_[at(u)] = part;
        gain_[at(u)] += weight;
        border.emplace(gain_[at(u)], -in_.position[at(u)], u);
      });
    };
    for (int mapped = 0; mapped < size;) {
      int v = -1;
      while (v < 0 && !border.empty()) {
        const auto [gain, place, u] = border.top();
        border.pop();
        if (part_of_[at(u)] < 0 && gain == gain_[at(u)]) v = u;
      }
      while (v < 0) {
        const int u = set.members[set.next++];
        if (part_of_[at(u)] < 0) v = u;
      }
      map(v);
      ++mapped;
    }
    set.left -= size;
    take(part, size);
  }

  const SetMatchInput& in_;
  std::vector<AppSet> sets_;
  Parts part_of_;
  std::vector<int> set_of_;
  std::vector<double> gain_;
  std::vector<int> stamp_;
  std::vector<int> free_;
  std::vector<double> pull_;
  std::set<std::pair<int, int>> by_size_;  ///< (-size, set)
  std::set<std::pair<int, int>> parts_;    ///< (free slots, -part)
};

std::vector<int> renumber(UnionFind& joined, int size) {
  std::vector<int> number(static_cast<std::size_t>(size), -1), set_of(number.size());
  int next = 0;
  for (int v = 0; v < size; ++v) {
    auto& of_root = number[static_cast<std::size_t>(joined.root(v))];
    if (of_root < 0) of_root = next++;
    set_of[static_cast<std::size_t>(v)] = of_root;
  }
  return set_of;
}

}  // namespace

std::vector<int> independent_sets(const Graph& graph, double least_weight) {
  // Algorithm 2 opens a set at each rank not yet in one, with its significant neighbours; Algorithm
  // 3 merges sets that share a rank. Sets tied by a significant weight are merged too: only then
  // are they independent, as the thesis asks.
  UnionFind joined(graph.size());
  for (int v = 0; v < graph.size(); ++v)
    graph.each(v, [&](int u, double weight) {
      if (weight > 0 && weight >= least_weight) joined.join(v, u);
    });
  return renumber(joined, graph.size());
}

Parts setmatch(const SetMatchInput& in) {
  const auto room = std::accumulate(in.load.begin(), in.load.end(), std::int64_t{0});
  if (room != in.graph.size())
    throw std::invalid_argument("setmatch: the loads do not add up to the ranks");
  const auto set_of = in.given_set.empty()
                          ? independent_sets(in.graph, in.significance * in.graph.heaviest())
                          : std::vector<int>(in.given_set.begin(), in.given_set.end());
  return Matcher(in, gather_sets(set_of, in.position)).match();
}

Parts setmatch_generalised(const SetMatchInput& in) {
  constexpr int many_ranks = 20'000;  // from here on one significance has to do
  std::vector<double> tries{in.significance};
  if (in.graph.size() <= many_ranks) tries.insert(tries.end(), {0.9, 0.5, 0.25, 0.03, 0.01, 0.0});
  Parts best;
  double best_cut = 0;
  for (const double significance : tries) {
    SetMatchInput attempt = in;
    attempt.significance = significance;
    attempt.given_set = {};
    auto parts = setmatch(attempt);
    refine(in.graph, parts, static_cast<int>(in.load.size()));
    const double cut = cut_weight(in.graph, parts);
    if (best.empty() || cut < best_cut) {
      best = std::move(parts);
      best_cut = cut;
    }
  }
  return best;
}

}  // namespace choir::place
