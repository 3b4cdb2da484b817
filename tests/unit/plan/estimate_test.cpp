// estimate_test.cpp: where strategies apply, and which of them is expected to be the best.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/partition.hpp"
#include "plan/strategy.hpp"

namespace choir {
namespace {

double estimate(const std::string& name, const std::vector<int>& nodes,
                const Parameters& parameters, const Situation& situation) {
  const StrategyTable table;
  const Topology topology(nodes, 4);
  const std::vector<RankSummary> ranks(nodes.size(), {0, 1 << 20, 1 << 18});
  return table.rows()[static_cast<std::size_t>(*table.find(name))].estimate_s(
      {topology, ranks, parameters, 2}, situation);
}

TEST(Estimate, IsInfiniteWhereAStrategyDoesNotApply) {
  const std::vector<int> one_node{0, 0}, two_nodes{0, 1};
  Situation local{100, true, true, true};
  EXPECT_TRUE(std::isfinite(estimate("mapped", one_node, {}, local)));
  EXPECT_EQ(estimate("mapped", two_nodes, {}, local), not_applicable);
  local.readable = false;
  EXPECT_EQ(estimate("mapped", one_node, {}, local), not_applicable);
  EXPECT_EQ(estimate("mapped", one_node, {}, {100, true, false, true}), not_applicable);

  Parameters striped;
  EXPECT_EQ(estimate("disk_first", two_nodes, striped, {}), not_applicable);
  striped.stripe_unit = 65536;
  EXPECT_EQ(estimate("disk_first", two_nodes, striped, {}), not_applicable);
  striped.stripe_servers = 4;
  EXPECT_TRUE(std::isfinite(estimate("disk_first", two_nodes, striped, {})));
}

std::vector<RankSummary> blocks_of(std::initializer_list<std::int64_t> sizes) {
  std::vector<RankSummary> ranks;
  std::int64_t at = 4096;
  for (const auto size : sizes) {
    ranks.push_back({at, at + size, size});
    at += size;
  }
  return ranks;
}

RankSummary periodic(std::int64_t low, std::int64_t count, std::int64_t length,
                     std::int64_t stride) {
  return {low, low + (count - 1) * stride + length, count * length,
          Shape::periodic(stride, length, 0)};
}

TEST(Partition, RanksThatLeaveNoByteOutAreKnown) {
  EXPECT_TRUE(fill_their_span(blocks_of({100, 4096, 7})));
  EXPECT_TRUE(fill_their_span(std::vector<RankSummary>{{8, 16, 8}, {}, {16, 24, 8}, {0, 8, 8}}));
  EXPECT_TRUE(fill_their_span(std::vector<RankSummary>{
      periodic(20, 5, 10, 30), periodic(30, 5, 10, 30), periodic(40, 5, 10, 30)}));
  EXPECT_FALSE(fill_their_span({}));
  EXPECT_FALSE(fill_their_span(std::vector<RankSummary>(2)));
}

TEST(Partition, RanksThatMayLeaveBytesOutAreNot) {
  EXPECT_FALSE(fill_their_span(std::vector<RankSummary>{{0, 8, 8}, {9, 16, 7}}));
  EXPECT_FALSE(fill_their_span(std::vector<RankSummary>{periodic(0, 5, 10, 30)}));
  // As many bytes as the span has, but twice the same ones.
  EXPECT_FALSE(fill_their_span(std::vector<RankSummary>{{0, 8, 8}, {4, 8, 4}, {12, 16, 4}}));
  EXPECT_FALSE(fill_their_span(
      std::vector<RankSummary>{periodic(0, 5, 10, 20), periodic(0, 5, 9, 20), {98, 99, 1}}));
  // Two strides.
  EXPECT_FALSE(
      fill_their_span(std::vector<RankSummary>{periodic(0, 4, 8, 16), periodic(8, 2, 16, 40)}));
}

/// The strategy that `auto` would begin with.
std::string likely_best(const std::vector<RankSummary>& ranks, int cores, const Situation& s) {
  const StrategyTable table;
  const Topology topology(std::vector<int>(ranks.size(), 0), cores);
  const auto& best = *std::min_element(table.rows().begin(), table.rows().end(),
                                       [&](const Strategy& a, const Strategy& b) {
                                         const PlanInput in{topology, ranks, {}, 2};
                                         return a.estimate_s(in, s) < b.estimate_s(in, s);
                                       });
  return best.name;
}

/// Making a page or two writable takes longer than writing them.
TEST(Estimate, SmallBlocksInPlaceAreNotMappedAtFirst) {
  for (const std::int64_t bytes : {4096, 12000, 20480}) {
    const Situation again{2, true, true, true, false, false, 48 * bytes};
    EXPECT_NE(likely_best(blocks_of({bytes, bytes}), 2, again), "mapped") << bytes;
    auto there = again;
    there.prepared = true;
    EXPECT_EQ(likely_best(blocks_of({bytes, bytes}), 2, there), "mapped") << bytes;
  }
}

/// Pieces of several ranks that lie between each other.
TEST(Estimate, SmallPiecesOnNewGroundAreWrittenTogetherAndLargeOnesByTheirRanks) {
  const Situation small{8, true, true, true, true};
  const std::vector<RankSummary> interleaved{{0, 114688, 65536}, {16384, 131072, 65536}};
  EXPECT_EQ(likely_best(interleaved, 2, small), "two_phase");
  EXPECT_EQ(likely_best(blocks_of({348160, 348160}), 2, {2, true, true, true, true}), "individual");
}

TEST(Estimate, SmallBlocksThatNobodyHasReadYetAreReadByTheirRanks) {
  const Situation cold{2, false, true, true, false, false};
  for (const std::int64_t bytes : {1, 100, 4096, 16384})
    EXPECT_EQ(likely_best(blocks_of({bytes, bytes}), 2, cold), "individual");
}

TEST(Estimate, LargeBlocksAreStoredIntoTheMappingWhereTheFileWasWrittenBefore) {
  const Situation again{2, true, true, true, false, false};
  EXPECT_EQ(likely_best(blocks_of({348160, 348160}), 2, again), "mapped");
  const Situation first_time{2, true, true, true, true, false};
  EXPECT_EQ(likely_best(blocks_of({348160, 348160}), 2, first_time), "individual");
}

/// In the caches a write of one large block is as fast as stores, and needs no pages made writable.
TEST(Estimate, WhatIsInTheCachesIsStoredIntoTheMappingIfItIsManyPieces) {
  const auto blocks = blocks_of({512 << 10, 512 << 10});
  const Situation large{2, true, true, true, false, false, 1 << 20};
  EXPECT_EQ(likely_best(blocks, 2, large), "individual");
  const Situation many{64, true, true, true, false, false, 1 << 20};
  EXPECT_EQ(likely_best(blocks, 2, many), "mapped");
  const Situation in_a_large_file{2, true, true, true, false, false, 16 << 20};
  EXPECT_EQ(likely_best(blocks, 2, in_a_large_file), "mapped");
}

TEST(Estimate, NothingIsStoredByMappingWithoutBlocksAhead) {
  const auto ranks = blocks_of({4096, 4096});
  const Topology topology({0, 0}, 2);
  const PlanInput in{topology, ranks, {}, 2};
  Situation situation{2, true, true, true};
  const StrategyTable table;
  const auto& mapped = table.rows()[static_cast<std::size_t>(*table.find("mapped"))];
  EXPECT_NE(mapped.estimate_s(in, situation), not_applicable);
  situation.reserves = false;
  EXPECT_EQ(mapped.estimate_s(in, situation), not_applicable);
  situation.writing = false;  // loads need no blocks
  EXPECT_NE(mapped.estimate_s(in, situation), not_applicable);
}

}  // namespace
}  // namespace choir
