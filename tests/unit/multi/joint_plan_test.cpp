// joint_plan_test.cpp: who aggregates which file when many are served in one call.
#include "multi/joint_plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace choir::multi {
namespace {

constexpr std::int64_t mib = 1 << 20;

/// `files` files, each asked by all ranks in blocks of `bytes`, one behind the other.
struct Job {
  Job(const std::vector<int>& node_of, int files, std::int64_t bytes, int seats)
      : topology(node_of, 4), seats(seats) {
    for (int f = 0; f < files; ++f) {
      std::vector<RankSummary> one;
      for (std::size_t r = 0; r < node_of.size(); ++r) {
        const auto low = static_cast<std::int64_t>(r) * bytes;
        one.push_back({low, low + bytes, bytes});
      }
      summaries.push_back(one);
    }
  }
  std::vector<Plan> plan() const {
    std::vector<PlanInput> inputs;
    for (const auto& one : summaries) inputs.push_back({topology, one, parameters, seats});
    return plan_assigned(inputs);
  }
  Topology topology;
  int seats;
  Parameters parameters;
  std::vector<std::vector<RankSummary>> summaries;
};

std::map<int, int> files_of_rank(const std::vector<Plan>& plans) {
  std::map<int, int> files;
  for (const auto& plan : plans)
    for (const auto& aggregator : plan.aggregators) ++files[aggregator.rank];
  return files;
}

TEST(JointPlan, MoreFilesThanAggregatorsAreSharedOutEvenly) {
  const auto plans = Job({0, 0, 1, 1}, 8, mib, 2).plan();
  for (const auto& plan : plans) {
    ASSERT_EQ(plan.aggregators.size(), 1U);
    EXPECT_EQ(plan.aggregators[0].domain, (choir::Run{0, 4 * mib, 0, 1}));
  }
  for (const auto& [rank, files] : files_of_rank(plans)) EXPECT_EQ(files, 2) << "rank " << rank;
}

TEST(JointPlan, FewerFilesThanAggregatorsHaveSeveralEach) {
  const auto plans = Job({0, 0, 1, 1}, 2, mib, 2).plan();
  for (const auto& plan : plans) EXPECT_EQ(plan.aggregators.size(), 2U);
  EXPECT_EQ(files_of_rank(plans).size(), 4U);
}

TEST(JointPlan, AFileGoesToTheNodeThatAsksMost) {
  Job job({0, 0, 1, 1}, 2, mib, 2);
  job.summaries[0] = {{}, {}, {0, 3 * mib, 3 * mib}, {3 * mib, 4 * mib, mib}};
  job.summaries[1] = {{0, 3 * mib, 3 * mib}, {3 * mib, 4 * mib, mib}, {}, {}};
  const auto plans = job.plan();
  for (const auto& aggregator : plans[0].aggregators)
    EXPECT_EQ(job.topology.node_of(aggregator.rank), 1);
  for (const auto& aggregator : plans[1].aggregators)
    EXPECT_EQ(job.topology.node_of(aggregator.rank), 0);
}

TEST(JointPlan, OnlyAsManyRanksOfANodeAsItHasBuffers) {
  const auto plans = Job({0, 0, 0, 0, 0, 0}, 9, mib, 2).plan();
  std::map<int, std::set<int>> ranks_of_seat;
  for (const auto& plan : plans)
    for (const auto& aggregator : plan.aggregators)
      ranks_of_seat[aggregator.seat].insert(aggregator.rank);
  EXPECT_EQ(ranks_of_seat.size(), 2U);
  for (const auto& [seat, ranks] : ranks_of_seat) EXPECT_EQ(ranks.size(), 1U) << "seat " << seat;
}

TEST(JointPlan, AFileNobodyAsksForHasNoAggregator) {
  Job job({0, 0}, 2, mib, 2);
  job.summaries[1] = {{}, {}};
  EXPECT_TRUE(job.plan()[1].aggregators.empty());
}

TEST(JointPlan, SeatsAreRefusedWhereThereAreTooFew) {
  std::vector<Plan> plans(2);
  plans[0].aggregators = {{0, 0, 0, {0, 1, 0, 1}}};
  plans[1].aggregators = {{1, 0, 0, {0, 1, 0, 1}}};
  const Topology topology({0, 0}, 2);
  EXPECT_FALSE(seat_together(plans, topology, 1));
  EXPECT_TRUE(seat_together(plans, topology, 2));
  EXPECT_NE(plans[0].aggregators[0].seat, plans[1].aggregators[0].seat);
}

}  // namespace
}  // namespace choir::multi
