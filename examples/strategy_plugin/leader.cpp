// leader.cpp: a strategy as a plug-in: one rank of every node writes and reads for its node.
//
// Worked example. A plug-in exports one function, which adds rows to the table; a row has a name, a
// plan and an estimate. `leader` gives every node one contiguous file range, served by the rank of
// the node that asks for the most bytes there, which suits jobs whose other ranks must not be
// disturbed. It is used like any other strategy:
//
//   CHOIR_PLUGINS=$PWD/libleader.so mpiexec -n 64 choir run --strategy leader ./app
#include <algorithm>

#include "plan/partition.hpp"
#include "plan/plugin.hpp"

namespace {

using namespace choir;

std::vector<int> busy_nodes(const PlanInput& in) {
  std::vector<int> nodes;
  for (const int node : nodes_by_data(in))
    if (bytes_of(in.ranks, in.topology.ranks_of(node)) > 0) nodes.push_back(node);
  return nodes;
}

int leader_of(const PlanInput& in, int node) {
  const auto& members = in.topology.ranks_of(node);
  const auto asks = [&](int rank) { return in.ranks[static_cast<std::size_t>(rank)].bytes; };
  // The first of equals: the same on every rank, since plans are computed everywhere and never
  // sent.
  return *std::max_element(members.begin(), members.end(),
                           [&](int a, int b) { return asks(a) < asks(b); });
}

std::vector<int> everyone(const PlanInput& in) {
  std::vector<int> ranks(static_cast<std::size_t>(in.topology.ranks()));
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
  return ranks;
}

/// Pure: only from `in`, never from a clock, the environment or this rank's number.
Plan plan_leader(const PlanInput& in) {
  Plan plan;
  plan.exchange = Exchange::windows;
  plan.requests = Requests::coalesce;  // holes stay untouched
  plan.cycle_bytes = in.parameters.cycle_bytes;
  const auto nodes = busy_nodes(in);
  const auto cuts = cut_by_bytes(in.ranks, everyone(in), static_cast<int>(nodes.size()), 4096);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto length = cuts[i + 1] - cuts[i];
    if (length <= 0) continue;
    Aggregator leader;
    leader.rank = leader_of(in, nodes[i]);
    leader.domain = Run{cuts[i], length, 0, 1};
    plan.aggregators.push_back(leader);
  }
  return plan;
}

/// Seconds, roughly: one rank per node copies and moves everything.
double estimate_leader(const PlanInput& in, const Situation&) {
  double bytes = 0;
  for (const auto& rank : in.ranks) bytes += static_cast<double>(rank.bytes);
  return bytes * 0.5e-9 / std::max(1, in.topology.nodes());
}

}  // namespace

CHOIR_STRATEGIES(table) {
  table.add({"leader", "one rank per node, the one that asks most, serves a contiguous range",
             plan_leader, estimate_leader, false});
}
