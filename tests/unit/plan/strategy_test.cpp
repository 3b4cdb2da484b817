// strategy_test.cpp: what every strategy's plan promises the engine, for random jobs, and the words
// of recipes.
#include "plan/strategy.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "plan/plugin.hpp"

namespace choir {
namespace {

std::int64_t pick(std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high); }

/// A random job: who sits where, who asks for what, what the user has set.
struct Job {
  std::vector<int> node_of;
  Topology topology;
  std::vector<RankSummary> ranks;
  Parameters parameters;
  int seats = 1;

  PlanInput input() const { return {topology, ranks, parameters, seats}; }
};

RankSummary any_summary() {
  if (pick(0, 5) == 0) return {};
  const auto bits = pick(1, 31);
  const auto low = pick(0, std::int64_t{1} << 40), width = pick(1, std::int64_t{1} << bits);
  return {low, low + width, pick(1, width + 1)};
}

/// Blocks one after the other, as a checkpoint writes them.
void fill_checkpoint(Job& job) {
  auto at = pick(0, std::int64_t{1} << 40);
  for (auto& rank : job.ranks) {
    const auto bytes = pick(0, std::int64_t{1} << 22);
    if (bytes > 0) rank = {at, at + bytes, bytes};
    at += bytes;
  }
}

Parameters any_parameters() {
  Parameters p;
  p.aggregators_per_node = static_cast<int>(pick(0, 7));
  p.aggregators = static_cast<int>(pick(0, 10));
  p.aggregators_per_server = static_cast<int>(pick(1, 4));
  p.cycle_bytes = std::int64_t{64} << pick(0, 17);
  p.scaling = *rc::gen::arbitrary<bool>();
  p.most_cycle_bytes = std::max<std::int64_t>(p.cycle_bytes, std::int64_t{4096} << pick(0, 12));
  p.group_size = static_cast<int>(pick(0, 11));
  p.writers_per_group = static_cast<int>(pick(1, 6));
  p.concurrent = static_cast<int>(pick(1, 5));
  p.stripe_unit = *rc::gen::element<std::int64_t>(512, 1000, 4096, 65536, 1 << 20);
  p.stripe_servers = static_cast<int>(pick(1, 9));
  return p;
}

Job any_job() {
  Job job;
  const auto ranks = pick(1, 25), nodes = pick(1, 7);
  for (std::int64_t r = 0; r < ranks; ++r) job.node_of.push_back(static_cast<int>(pick(0, nodes)));
  job.topology = Topology(job.node_of, static_cast<int>(pick(1, 9)));
  job.ranks.resize(static_cast<std::size_t>(ranks));
  if (pick(0, 2) == 0)
    fill_checkpoint(job);
  else
    for (auto& rank : job.ranks) rank = any_summary();
  job.parameters = any_parameters();
  job.seats = static_cast<int>(pick(1, 6));
  return job;
}

bool holds(const Run& run, std::int64_t at) {
  if (at < run.offset || at >= run.end()) return false;
  return run.count == 1 || (at - run.offset) % run.stride < run.length;
}

/// Places of a rank's span where something may go wrong: its ends, the edges of domains, and some
/// in between.
std::set<std::int64_t> probes(const Plan& plan, const RankSummary& rank) {
  std::set<std::int64_t> places{rank.low, rank.high - 1, rank.low + (rank.high - rank.low) / 3};
  for (int i = 0; i < 4; ++i) places.insert(rank.low + pick(0, rank.high - rank.low));
  for (const auto& aggregator : plan.aggregators)
    for (const auto edge :
         {aggregator.domain.offset, aggregator.domain.offset + aggregator.domain.length,
          aggregator.domain.end()})
      for (const auto place : {edge - 1, edge})
        if (place >= rank.low && place < rank.high) places.insert(place);
  return places;
}

void check_place(const Plan& plan, int group, std::int64_t place) {
  int windows = 0;
  for (const auto& aggregator : plan.aggregators) {
    if (aggregator.group != group) continue;
    const auto meeting = windows_meeting(aggregator.domain, plan.cycle_bytes, {place, place + 1});
    RC_ASSERT(meeting.size() <= 1);
    if (meeting.empty()) continue;
    const auto window = window_of(aggregator.domain, plan.cycle_bytes, meeting.begin);
    RC_ASSERT(window.bytes() > 0 && window.bytes() <= plan.cycle_bytes);
    if (holds(window, place)) ++windows;
  }
  RC_ASSERT(windows == 1);
}

/// Every byte of every rank's span is in one window of one aggregator of its group.
void check_windows(const Job& job, const Plan& plan) {
  RC_ASSERT(plan.cycle_bytes > 0 && plan.cycle_bytes <= job.parameters.most_cycle_bytes);
  for (std::size_t r = 0; r < job.ranks.size(); ++r)
    if (!job.ranks[r].empty())
      for (const auto place : probes(plan, job.ranks[r]))
        check_place(plan, plan.group(static_cast<int>(r)), place);
}

/// Every rank with something to do has a writer of its group.
void check_slots(const Job& job, const Plan& plan) {
  RC_ASSERT(plan.writer_of.size() == job.ranks.size());
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const int writer = plan.writer_of[r];
    if (job.ranks[r].empty()) {
      RC_ASSERT(writer == -1);
      continue;
    }
    RC_ASSERT(writer >= 0 && writer < static_cast<int>(plan.aggregators.size()));
    RC_ASSERT(plan.aggregators[static_cast<std::size_t>(writer)].group ==
              plan.group(static_cast<int>(r)));
  }
}

/// Cycle buffers exist, and nobody but their owner has them.
void check_seats(const Job& job, const Plan& plan) {
  std::map<std::pair<int, int>, int> owner;
  for (const auto& a : plan.aggregators) {
    RC_ASSERT(a.rank >= 0 && a.rank < job.topology.ranks());
    RC_ASSERT(a.seat >= 0 && a.seat < job.seats);
    RC_ASSERT(a.domain.bytes() > 0);
    const auto [found, fresh] = owner.try_emplace({job.topology.node_of(a.rank), a.seat}, a.rank);
    RC_ASSERT(fresh || found->second == a.rank);
  }
  for (std::size_t node = 0; node < plan.relay_of_node.size(); ++node) {
    const auto& relay = plan.relay_of_node[node];
    RC_ASSERT(job.topology.node_of(relay.rank) == static_cast<int>(node));
    // The engine has one buffer more than the plan may give to aggregators.
    RC_ASSERT(relay.seat >= 0 && relay.seat <= job.seats);
    RC_ASSERT(owner.count({static_cast<int>(node), relay.seat}) == 0);
  }
}

/// What the engine relies on, whatever the strategy.
void check_plan(const Job& job, const Plan& plan) {
  const bool idle = std::all_of(job.ranks.begin(), job.ranks.end(),
                                [](const RankSummary& r) { return r.empty(); });
  if (idle) RC_ASSERT(plan.aggregators.empty());
  check_seats(job, plan);
  if (plan.exchange == Exchange::windows) check_windows(job, plan);
  if (plan.exchange == Exchange::slots) check_slots(job, plan);
  if (plan.exchange != Exchange::windows && plan.exchange != Exchange::slots)
    RC_ASSERT(plan.aggregators.empty());
}

RC_GTEST_PROP(StrategyProperty, EveryRowKeepsItsPromises, ()) {
  const auto job = any_job();
  const StrategyTable table;
  for (const auto& strategy : table.rows()) {
    RC_LOG() << strategy.name << std::endl;
    check_plan(job, strategy.plan(job.input()));
  }
}

RC_GTEST_PROP(StrategyProperty, EqualInputGivesAnEqualPlan, ()) {
  const auto job = any_job();
  auto same = job;
  // Only who shares a node matters, not what the node is called.
  for (auto& node : same.node_of) node = 1000 - 7 * node;
  same.topology = Topology(same.node_of, job.topology.cores_per_node());
  const StrategyTable table, other;
  for (std::size_t i = 0; i < table.rows().size(); ++i)
    RC_ASSERT(table.rows()[i].plan(job.input()) == other.rows()[i].plan(same.input()));
}

RC_GTEST_PROP(StrategyProperty, CbNodesLimitsTheAggregators, ()) {
  auto job = any_job();
  job.parameters.aggregators = static_cast<int>(pick(1, 6));
  const StrategyTable table;
  for (const char* name : {"two_phase", "hierarchical", "disk_first"}) {
    std::set<int> ranks;
    for (const auto& a :
         table.rows()[static_cast<std::size_t>(*table.find(name))].plan(job.input()).aggregators)
      ranks.insert(a.rank);
    RC_ASSERT(static_cast<int>(ranks.size()) <= job.parameters.aggregators);
  }
}

RC_GTEST_PROP(StrategyProperty, AStripeBelongsToOneAggregator, ()) {
  const auto job = any_job();
  const StrategyTable table;
  const auto plan =
      table.rows()[static_cast<std::size_t>(*table.find("disk_first"))].plan(job.input());
  const auto period = job.parameters.stripe_unit * job.parameters.stripe_servers;
  for (const auto& a : plan.aggregators) {
    RC_ASSERT(a.domain.offset % job.parameters.stripe_unit == 0);
    RC_ASSERT(a.domain.length == job.parameters.stripe_unit);
    RC_ASSERT(a.domain.count == 1 || a.domain.stride == period);
  }
}

/// Ranks with a quarter of a megabyte each, one after the other, on striped storage.
Job striped_job(std::vector<int> node_of, std::int64_t gap) {
  constexpr std::int64_t bytes = 256 * 1024;
  Job job;
  job.node_of = std::move(node_of);
  job.topology = Topology(job.node_of, 2);
  for (std::int64_t r = 0; r < std::ssize(job.node_of); ++r)
    job.ranks.push_back({r * (bytes + gap), r * (bytes + gap) + bytes, bytes});
  job.parameters.cycle_bytes = job.parameters.most_cycle_bytes = 1 << 20;
  job.parameters.stripe_unit = 64 * 1024;
  job.parameters.stripe_servers = 3;
  job.seats = 2;
  return job;
}

std::int64_t disk_first_cycle(const Job& job) {
  const StrategyTable table;
  return table.rows()[static_cast<std::size_t>(*table.find("disk_first"))]
      .plan(job.input())
      .cycle_bytes;
}

TEST(DiskFirst, WindowsBetweenNodesAreTwoStripes) {
  const auto job = striped_job({0, 0, 1, 1, 2, 2, 3, 3}, 0);
  EXPECT_EQ(disk_first_cycle(job), 128 * 1024);
}

TEST(DiskFirst, WindowsStayLargeWhereSmallOnesCost) {
  EXPECT_EQ(disk_first_cycle(striped_job({0, 0, 0, 0, 0, 0, 0, 0}, 0)), 1 << 20) << "one node";
  EXPECT_EQ(disk_first_cycle(striped_job({0, 0, 1, 1, 2, 2, 3, 3}, 512)), 1 << 20) << "holes";
  EXPECT_EQ(disk_first_cycle(striped_job(std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, 0)),
            12 * 16 * 1024)
      << "messages of twelve ranks";
  auto large = striped_job({0, 0, 1, 1, 2, 2, 3, 3}, 0);
  large.parameters.stripe_unit = 4 << 20;
  EXPECT_EQ(disk_first_cycle(large), 1 << 20) << "no more than the buffer holds";
}

RC_GTEST_PROP(StrategyProperty, HierarchicalHasARelayOnEveryNode, ()) {
  const auto job = any_job();
  const StrategyTable table;
  const auto plan =
      table.rows()[static_cast<std::size_t>(*table.find("hierarchical"))].plan(job.input());
  const auto nodes = job.topology.nodes();
  RC_ASSERT(plan.relay_of_node.size() == static_cast<std::size_t>(nodes > 1 ? nodes : 0));
}

RC_GTEST_PROP(StrategyProperty, CoreFirstNeverLeavesTheNode, ()) {
  const auto job = any_job();
  const StrategyTable table;
  const auto plan =
      table.rows()[static_cast<std::size_t>(*table.find("core_first"))].plan(job.input());
  for (const auto& a : plan.aggregators) RC_ASSERT(plan.group(a.rank) == a.group);
  for (int r = 0; r < job.topology.ranks(); ++r)
    RC_ASSERT(plan.group(r) == job.topology.node_of(r));
}

RC_GTEST_PROP(StrategyProperty, AShiftedPlanIsThePlanFurtherOn, ()) {
  const auto job = any_job();
  const auto delta = pick(-(1LL << 40), 1LL << 40);
  const StrategyTable table;
  for (const auto& strategy : table.rows()) {
    const auto plan = strategy.plan(job.input());
    auto moved = plan;
    moved.shift(delta);
    for (std::size_t i = 0; i < plan.aggregators.size(); ++i)
      RC_ASSERT(moved.aggregators[i].domain.offset == plan.aggregators[i].domain.offset + delta);
    moved.shift(-delta);
    RC_ASSERT(moved == plan);
  }
}

// ---- recipes

constexpr Partition partitions[] = {Partition::owner, Partition::even, Partition::stripes,
                                    Partition::node, Partition::layout};
constexpr Choice choices[] = {Choice::every, Choice::per_node, Choice::per_server,
                              Choice::most_data, Choice::writers};

std::vector<Strategy> every_accepted_recipe() {
  std::vector<Strategy> accepted;
  for (const auto partition : partitions)
    for (const auto choice : choices)
      for (const auto cycles : {Cycles::by_offset, Cycles::per_rank})
        for (const auto requests : {Requests::list, Requests::coalesce, Requests::sieve})
          for (const bool node_first : {false, true}) try {
              accepted.push_back(
                  strategy_from("mine", "", {partition, choice, cycles, requests, node_first}));
            } catch (const std::invalid_argument&) {
            }
  return accepted;
}

RC_GTEST_PROP(RecipeProperty, AnyAcceptedCombinationIsAPlan, ()) {
  static const auto recipes = every_accepted_recipe();
  const auto job = any_job();
  const auto& recipe =
      recipes[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(recipes.size())))];
  check_plan(job, recipe.plan(job.input()));
}

TEST(Recipe, WordsMakeTheRowsOfTheTable) {
  const Recipe two_phase{
      Partition::even, Choice::per_node, Cycles::by_offset, Requests::sieve, false, false};
  EXPECT_EQ(parse_recipe("even", "per_node", "by_offset", "sieve", false), two_phase);
  const Recipe segments{Partition::layout,  Choice::writers, Cycles::per_rank,
                        Requests::coalesce, false,           false};
  EXPECT_EQ(parse_recipe("layout", "writers", "per_rank", "coalesce", false), segments);
  EXPECT_TRUE(parse_recipe("stripes", "per_server", "by_offset", "list", true).node_first);
}

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(Recipe, UnknownWordsAreNamedWithTheAcceptedOnes) {
  const auto text = complaint([] { parse_recipe("odd", "every", "by_offset", "list", false); });
  EXPECT_NE(text.find("'odd'"), std::string::npos) << text;
  EXPECT_NE(text.find("owner, even, stripes, node, layout"), std::string::npos) << text;
  EXPECT_NE(complaint([] {
              parse_recipe("even", "some", "by_offset", "list", false);
            }).find("per_server"),
            std::string::npos);
  EXPECT_NE(
      complaint([] { parse_recipe("even", "every", "weekly", "list", false); }).find("per_rank"),
      std::string::npos);
  EXPECT_NE(
      complaint([] { parse_recipe("even", "every", "by_offset", "", false); }).find("coalesce"),
      std::string::npos);
}

TEST(Recipe, ContradictionsAreRefused) {
  const auto refused = [](const Recipe& recipe) {
    return !complaint([&] { strategy_from("mine", "", recipe); }).empty();
  };
  EXPECT_TRUE(refused({Partition::even, Choice::per_node, Cycles::per_rank, Requests::list}));
  EXPECT_TRUE(refused({Partition::owner, Choice::every, Cycles::per_rank, Requests::list}));
  EXPECT_TRUE(
      refused({Partition::node, Choice::most_data, Cycles::by_offset, Requests::list, true}));
  EXPECT_TRUE(refused({Partition::layout, Choice::writers, Cycles::by_offset, Requests::sieve}));
  EXPECT_TRUE(refused({Partition::owner, Choice::every, Cycles::by_offset, Requests::sieve}));
  EXPECT_FALSE(refused({Partition::node, Choice::writers, Cycles::per_rank, Requests::coalesce}));
}

// ---- the table

TEST(StrategyTable, HasTheStrategiesOfThePapers) {
  const StrategyTable table;
  for (const char* name :
       {"individual", "scheduled_individual", "two_phase", "disk_first", "core_first",
        "dynamic_segmentation", "static_segmentation", "hierarchical", "mapped", "native"})
    EXPECT_TRUE(table.find(name).has_value()) << name;
  EXPECT_FALSE(table.find("three_phase").has_value());
}

TEST(StrategyTable, TakesNewNamesAndRefusesKnownOnes) {
  StrategyTable table;
  const Recipe recipe{Partition::even, Choice::per_node, Cycles::by_offset, Requests::list};
  table.add(strategy_from("mine", "even ranges", recipe));
  EXPECT_EQ(table.rows()[static_cast<std::size_t>(*table.find("mine"))].summary, "even ranges");
  EXPECT_NE(complaint([&] { table.add(strategy_from("mine", "", recipe)); }).find("'mine'"),
            std::string::npos);
}

TEST(Plugins, AddTheirStrategiesOrAreRefusedWithTheReason) {
  StrategyTable table;
  load_plugin(table, LEADER_PLUGIN);
  EXPECT_TRUE(table.find("leader").has_value());
  const auto refusal = [&](const char* path) {
    return complaint([&] { load_plugin(table, path); });
  };
  EXPECT_NE(refusal("no-such-plugin.so").find("no-such-plugin.so"), std::string::npos);
  EXPECT_NE(refusal("libm.so.6").find("is not a plug-in of choir"), std::string::npos);
  EXPECT_NE(refusal(FOREIGN_PLUGIN).find("another version of choir"), std::string::npos);
  EXPECT_FALSE(table.find("foreign").has_value());
}

TEST(StrategyTable, AScheduleIsOnlyWhereItWasAskedFor) {
  const StrategyTable table;
  const Topology topology({0, 0, 0, 0}, 4);
  const std::vector<RankSummary> ranks(4, {0, 100, 100});
  Parameters parameters;
  parameters.concurrent = 3;
  const PlanInput in{topology, ranks, parameters, 2};
  const auto plan = [&](const char* name) {
    return table.rows()[static_cast<std::size_t>(*table.find(name))].plan(in);
  };
  EXPECT_EQ(plan("individual").concurrent, 0);
  EXPECT_EQ(plan("scheduled_individual").concurrent, 3);
  EXPECT_EQ(plan("mapped").exchange, Exchange::mapped);
  EXPECT_EQ(plan("native").exchange, Exchange::host);
}

RC_GTEST_PROP(EstimateProperty, IsAPositiveTimeOrInfinite, ()) {
  const auto job = any_job();
  const Situation situation{pick(0, 1 << 20), *rc::gen::arbitrary<bool>(),
                            *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()};
  const StrategyTable table;
  for (const auto& strategy : table.rows())
    RC_ASSERT(strategy.estimate_s(job.input(), situation) >= 0);
}

TEST(Recipe, SmallFilesOfDifferentTurnsHaveDifferentAggregators) {
  const Topology topology({0, 0, 0, 0, 1, 1, 1, 1}, 4);
  const std::vector<RankSummary> ranks(8, RankSummary{0, 4096, 512});
  Parameters parameters;
  std::set<int> aggregators;
  for (parameters.turn = 0; parameters.turn < 8; ++parameters.turn) {
    const auto plan = StrategyTable().rows()[2].plan({topology, ranks, parameters, 4});
    ASSERT_EQ(plan.aggregators.size(), 1U);  // there is work for one only
    EXPECT_EQ(plan.turn, parameters.turn);
    aggregators.insert(plan.aggregators.front().rank);
  }
  EXPECT_EQ(aggregators.size(), 8U);
}

TEST(Plan, AHundredThousandRanksArePlannedTheSameWay) {
  constexpr int ranks_per_node = 50, nodes = 2000;
  std::vector<int> node_of;
  std::vector<RankSummary> ranks;
  for (std::int64_t r = 0; r < ranks_per_node * nodes; ++r) {
    node_of.push_back(static_cast<int>(r / ranks_per_node));
    ranks.push_back({r << 20, (r + 1) << 20, 1 << 20});
  }
  const Topology topology(node_of, ranks_per_node);
  const StrategyTable table;
  for (const char* name : {"two_phase", "core_first", "dynamic_segmentation", "hierarchical"}) {
    const auto plan =
        table.rows()[static_cast<std::size_t>(*table.find(name))].plan({topology, ranks, {}, 4});
    std::int64_t bytes = 0;
    for (const auto& a : plan.aggregators) bytes += a.domain.bytes();
    EXPECT_EQ(bytes, std::int64_t{ranks_per_node} * nodes << 20) << name;
  }
}

}  // namespace
}  // namespace choir
