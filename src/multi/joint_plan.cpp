#include "multi/joint_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "multi/assignment_greedy.hpp"
#include "plan/partition.hpp"

namespace choir::multi {
namespace {

constexpr std::int64_t least_bytes_per_aggregator = 64 * 1024;
constexpr std::int64_t page = 4096;

std::int64_t bytes_asked(std::span<const PlanInput> members, int rank) {
  std::int64_t bytes = 0;
  for (const auto& member : members) bytes += member.ranks[static_cast<std::size_t>(rank)].bytes;
  return bytes;
}

/// Of a node's ranks, those with most to move; of equal ones, such that they are spread over it.
std::vector<int> aggregators_of_node(std::span<const PlanInput> members, int node) {
  const auto& in = members.front();
  const auto& ranks = in.topology.ranks_of(node);
  const auto size = static_cast<int>(ranks.size());
  const int wanted = in.parameters.aggregators_per_node > 0
                         ? in.parameters.aggregators_per_node
                         : std::min(4, in.topology.cores_per_node());
  const int count = std::clamp(wanted, 1, std::min(size, in.seats_per_node));
  std::vector<int> order;
  order.reserve(ranks.size());
  for (int i = 0; i < count; ++i)
    order.push_back(ranks[static_cast<std::size_t>(i * size / count)]);
  for (const int rank : ranks)
    if (std::find(order.begin(), order.end(), rank) == order.end()) order.push_back(rank);
  std::map<int, std::int64_t> bytes;
  for (const int rank : ranks) bytes[rank] = bytes_asked(members, rank);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return bytes[a] > bytes[b]; });
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

/// Who may aggregate, in rank order within nodes, limited by the hint cb_nodes.
std::vector<int> eligible(std::span<const PlanInput> members) {
  const auto& in = members.front();
  std::vector<int> all;
  for (int node = 0; node < in.topology.nodes(); ++node)
    for (const int rank : aggregators_of_node(members, node)) all.push_back(rank);
  const auto most = static_cast<std::size_t>(std::max(0, in.parameters.aggregators));
  if (most == 0 || most >= all.size()) return all;
  std::vector<int> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

/// r[i][j] with a row per aggregator: what it asks itself, and its part of what those ranks of its
/// node ask that cannot aggregate.
RequestMatrix requests_of(std::span<const PlanInput> members, const std::vector<int>& aggregators) {
  const auto& topology = members.front().topology;
  std::map<int, std::vector<int>> rows_of_node;
  std::map<int, int> row_of_rank;
  for (std::size_t i = 0; i < aggregators.size(); ++i) {
    rows_of_node[topology.node_of(aggregators[i])].push_back(static_cast<int>(i));
    row_of_rank[aggregators[i]] = static_cast<int>(i);
  }
  std::vector<Request> requests;
  for (std::size_t file = 0; file < members.size(); ++file)
    for (int rank = 0; rank < topology.ranks(); ++rank) {
      const auto bytes = members[file].ranks[static_cast<std::size_t>(rank)].bytes;
      if (bytes == 0) continue;
      if (const auto row = row_of_rank.find(rank); row != row_of_rank.end()) {
        requests.push_back({row->second, static_cast<int>(file), bytes});
        continue;
      }
      const auto near = rows_of_node.find(topology.node_of(rank));
      if (near == rows_of_node.end()) continue;  // it must leave its node in any case
      const auto share = bytes / static_cast<std::int64_t>(near->second.size());
      for (const int row : near->second)
        requests.push_back({row, static_cast<int>(file), std::max<std::int64_t>(1, share)});
    }
  return RequestMatrix::from_entries(static_cast<int>(aggregators.size()),
                                     static_cast<int>(members.size()), requests);
}

Assignment assign(std::span<const PlanInput> members, const std::vector<int>& aggregators) {
  Problem problem;
  problem.requests = requests_of(members, aggregators);
  for (const int rank : aggregators)
    problem.node_of_rank.push_back(members.front().topology.node_of(rank));
  problem.intra_node_cost = intra_node_cost;
  problem.balance = Balance::bytes;
  return assign_greedy(problem);
}

std::int64_t cycle_bytes(const PlanInput& in) {
  const auto& p = in.parameters;
  if (!p.scaling) return p.cycle_bytes;
  return std::min(p.cycle_bytes * static_cast<std::int64_t>(in.ranks.size()), p.most_cycle_bytes);
}

/// The file's bytes among its owners, each a range of its own.
Plan plan_file(const PlanInput& in, std::vector<int> owners) {
  Plan plan;
  plan.exchange = Exchange::windows;
  plan.requests = Requests::sieve;
  plan.cycle_bytes = cycle_bytes(in);
  std::vector<int> everyone(in.ranks.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  const auto bytes = bytes_of(in.ranks, everyone);
  if (bytes == 0) return plan;
  const auto enough = std::max<std::int64_t>(1, bytes / least_bytes_per_aggregator);
  if (static_cast<std::int64_t>(owners.size()) > enough)
    owners.resize(static_cast<std::size_t>(enough));
  const auto unit = in.parameters.stripe_unit;
  const auto align = unit > 0 && unit % page == 0 ? unit : page;
  const auto cuts = cut_by_bytes(in.ranks, everyone, static_cast<int>(owners.size()), align);
  for (std::size_t i = 0; i < owners.size(); ++i)
    if (cuts[i + 1] > cuts[i])
      plan.aggregators.push_back({owners[i], 0, 0, {cuts[i], cuts[i + 1] - cuts[i], 0, 1}});
  return plan;
}

}  // namespace

std::vector<Plan> plan_assigned(std::span<const PlanInput> members) {
  if (members.empty()) return {};
  const auto aggregators = eligible(members);
  const auto assignment = assign(members, aggregators);
  std::vector<Plan> plans;
  for (std::size_t file = 0; file < members.size(); ++file) {
    std::vector<int> owners;
    for (const int row : assignment.owners[file])
      owners.push_back(aggregators[static_cast<std::size_t>(row)]);
    if (owners.empty()) owners.push_back(aggregators.front());  // asked only by nodes without any
    plans.push_back(plan_file(members[file], std::move(owners)));
  }
  seat_together(plans, members.front().topology, members.front().seats_per_node);
  return plans;
}

bool seat_together(std::span<Plan> plans, const Topology& topology, int seats_per_node) {
  std::vector<int> taken(static_cast<std::size_t>(topology.nodes()), 0);
  std::map<int, int> seat_of;
  for (auto& plan : plans)
    for (auto& aggregator : plan.aggregators) {
      const auto found = seat_of.find(aggregator.rank);
      if (found != seat_of.end()) {
        aggregator.seat = found->second;
        continue;
      }
      auto& next = taken[static_cast<std::size_t>(topology.node_of(aggregator.rank))];
      if (next >= seats_per_node) return false;
      aggregator.seat = next;
      seat_of.emplace(aggregator.rank, next++);
    }
  return true;
}

}  // namespace choir::multi
