#include "plan/locality.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace choir {
namespace {

/// Planning must stay cheap beside the call: beyond this many pairs of rank and range the order by
/// nodes is kept.
constexpr std::size_t most_pairs = 1 << 21;
/// Estimates have to promise this much more local bytes before the order of nodes is left.
constexpr double clearly = 1.02;

/// Estimated bytes of each node in each range.
class Shares {
 public:
  Shares(const PlanInput& in, std::span<const std::int64_t> cuts)
      : nodes_(static_cast<std::size_t>(in.topology.nodes())), bytes_((cuts.size() - 1) * nodes_) {
    for (std::size_t rank = 0; rank < in.ranks.size(); ++rank)
      add(in.ranks[rank], static_cast<std::size_t>(in.topology.node_of(static_cast<int>(rank))),
          cuts);
  }

  double at(std::size_t range, int node) const {
    return bytes_[range * nodes_ + static_cast<std::size_t>(node)];
  }
  /// If every range could go to the node that has most of it.
  double most() const {
    double sum = 0;
    for (auto at = bytes_.begin(); at != bytes_.end(); at += static_cast<std::ptrdiff_t>(nodes_))
      sum += *std::max_element(at, at + static_cast<std::ptrdiff_t>(nodes_));
    return sum;
  }

 private:
  void add(const RankSummary& rank, std::size_t node, std::span<const std::int64_t> cuts) {
    if (rank.empty()) return;
    const double density =
        static_cast<double>(rank.bytes) / static_cast<double>(rank.high - rank.low);
    const auto above = std::upper_bound(cuts.begin(), cuts.end(), rank.low) - cuts.begin();
    for (auto range = static_cast<std::size_t>(std::max<std::ptrdiff_t>(above - 1, 0));
         range + 1 < cuts.size() && cuts[range] < rank.high; ++range) {
      const auto begin = std::max(cuts[range], rank.low);
      const auto end = std::min(cuts[range + 1], rank.high);
      if (begin < end) bytes_[range * nodes_ + node] += density * static_cast<double>(end - begin);
    }
  }

  std::size_t nodes_;
  std::vector<double> bytes_;
};

/// Heaviest shares first, each to its node while that has candidates; the rest in order.
std::vector<int> greedy(const PlanInput& in, const Shares& shares,
                        const std::vector<int>& candidates) {
  struct Wish {
    double bytes;
    std::size_t range;
    int node;
  };
  std::map<int, std::vector<int>> free;  // candidates of each node, last first
  for (auto at = candidates.rbegin(); at != candidates.rend(); ++at)
    free[in.topology.node_of(*at)].push_back(*at);
  std::vector<Wish> wishes;
  for (std::size_t range = 0; range < candidates.size(); ++range)
    for (const auto& [node, ranks] : free)
      if (const double bytes = shares.at(range, node); bytes > 0)
        wishes.push_back({bytes, range, node});
  std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) {
    return std::tuple(-a.bytes, a.range, a.node) < std::tuple(-b.bytes, b.range, b.node);
  });
  std::vector<int> chosen(candidates.size(), -1);
  const auto take = [&](std::size_t range, std::vector<int>& from) {
    chosen[range] = from.back();
    from.pop_back();
  };
  for (const auto& wish : wishes)
    if (auto& from = free[wish.node]; chosen[wish.range] < 0 && !from.empty())
      take(wish.range, from);
  auto left = free.begin();
  for (std::size_t range = 0; range < chosen.size(); ++range) {
    if (chosen[range] >= 0) continue;
    while (left->second.empty()) ++left;
    take(range, left->second);
  }
  return chosen;
}

double staying(const PlanInput& in, const Shares& shares, const std::vector<int>& aggregators) {
  double bytes = 0;
  for (std::size_t range = 0; range < aggregators.size(); ++range)
    bytes += shares.at(range, in.topology.node_of(aggregators[range]));
  return bytes;
}

}  // namespace

std::vector<int> near_data(const PlanInput& in, std::span<const std::int64_t> cuts,
                           std::vector<int> candidates) {
  if (in.topology.nodes() < 2 || candidates.size() < 2) return candidates;
  const auto nodes = static_cast<std::size_t>(in.topology.nodes());
  if (std::max(in.ranks.size(), nodes) > most_pairs / candidates.size()) return candidates;
  const Shares shares(in, cuts);
  const double enough = clearly * staying(in, shares, candidates);
  if (shares.most() <= enough) return candidates;  // so it is when every node has a bit of all
  auto better = greedy(in, shares, candidates);
  return staying(in, shares, better) > enough ? better : candidates;
}

std::vector<int> writers_near_data(const PlanInput& in, std::span<const int> group,
                                   std::span<const int> taken) {
  std::map<int, std::int64_t> bytes_of_node;
  for (const int rank : group)
    bytes_of_node[in.topology.node_of(rank)] += in.ranks[static_cast<std::size_t>(rank)].bytes;
  std::vector<int> order(group.begin(), group.end());
  const auto key = [&](int rank) {
    const int node = in.topology.node_of(rank);
    return std::tuple(-bytes_of_node[node], taken[static_cast<std::size_t>(node)], node);
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  return order;
}

}  // namespace choir
