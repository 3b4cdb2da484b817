// locality_test.cpp: aggregators go where the bytes are, and stay where that changes nothing.
#include "plan/locality.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/strategy.hpp"

namespace choir {
namespace {

constexpr std::int64_t block = 1 << 20;

RankSummary asks(std::int64_t low, std::int64_t high) {
  RankSummary one;
  one.low = low;
  one.high = high;
  one.bytes = high - low;
  return one;
}

Plan planned(const char* strategy, const PlanInput& in) {
  const StrategyTable table;
  return table.rows()[static_cast<std::size_t>(*table.find(strategy))].plan(in);
}

std::vector<int> nodes_of_aggregators(const Plan& plan, const Topology& topology) {
  std::vector<int> nodes;
  for (const auto& aggregator : plan.aggregators)
    nodes.push_back(topology.node_of(aggregator.rank));
  return nodes;
}

TEST(NearData, RangesGoToTheNodeThatHasThem) {
  // Node 0 has the first and last quarter of the file, node 1 the middle: both centres are equal.
  const Topology topology({0, 0, 1, 1}, 2);
  const std::vector<RankSummary> ranks{asks(0, block), asks(3 * block, 4 * block),
                                       asks(block, 2 * block), asks(2 * block, 3 * block)};
  Parameters parameters;
  parameters.aggregators_per_node = 2;
  for (const char* strategy : {"two_phase", "hierarchical"})
    EXPECT_EQ(nodes_of_aggregators(planned(strategy, {topology, ranks, parameters, 2}), topology),
              (std::vector<int>{0, 1, 1, 0}))
        << strategy;
}

TEST(NearData, TheOrderStaysWhereEveryNodeHasABitOfAll) {
  const Topology topology({0, 1, 2, 0, 1, 2}, 4);
  const std::vector<RankSummary> ranks(6, asks(0, 6 * block));
  const PlanInput in{topology, ranks, {}, 1};
  const std::vector<std::int64_t> cuts{0, 2 * block, 4 * block, 6 * block};
  EXPECT_EQ(near_data(in, cuts, {2, 0, 1}), (std::vector<int>{2, 0, 1}));
}

TEST(NearData, UsesEveryCandidateOnceAlsoIfOneNodeHasEverything) {
  const Topology topology({0, 0, 1, 1}, 2);
  const std::vector<RankSummary> ranks{asks(0, 2 * block), asks(2 * block, 4 * block), {}, {}};
  const PlanInput in{topology, ranks, {}, 2};
  const std::vector<std::int64_t> cuts{0, block, 2 * block, 3 * block, 4 * block};
  auto chosen = near_data(in, cuts, {0, 1, 2, 3});
  std::sort(chosen.begin(), chosen.end());
  EXPECT_EQ(chosen, (std::vector<int>{0, 1, 2, 3}));
}

TEST(WritersNearData, AGroupIsServedWhereMostOfItIs) {
  const Topology topology({0, 1, 1, 0}, 2);
  const std::vector<RankSummary> ranks{asks(0, block), asks(block, 2 * block),
                                       asks(2 * block, 4 * block), asks(4 * block, 5 * block)};
  const PlanInput in{topology, ranks, {}, 2};
  const std::vector<int> group{0, 1, 2, 3}, taken{0, 0};
  EXPECT_EQ(writers_near_data(in, group, taken), (std::vector<int>{1, 2, 0, 3}));
}

TEST(WritersNearData, EqualNodesTakeTurns) {
  // Ranks round-robin over nodes: each group has one rank on each node, and the writers spread.
  const Topology topology({0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, 4);
  std::vector<RankSummary> ranks;
  for (int rank = 0; rank < 16; ++rank) ranks.push_back(asks(rank * block, (rank + 1) * block));
  auto nodes =
      nodes_of_aggregators(planned("dynamic_segmentation", {topology, ranks, {}, 4}), topology);
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(nodes, (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace choir
