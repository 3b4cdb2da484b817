// The model's arithmetic against counting byte by byte and window by window, as the engine does.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ctime>
#include <map>
#include <set>

#include "access/codec.hpp"
#include "model/overlap.hpp"
#include "model/predict.hpp"

namespace choir::model {
namespace {

// -- by force
// ---------------------------------------------------------------------------------------------------------

/// The owner (rank) of every byte of the file, -1 where nobody is.
std::vector<int> owners(const Workload& workload, std::int64_t call, std::int64_t& begin) {
  std::int64_t low = INT64_MAX, high = 0;
  for (int r = 0; r < workload.parameters().ranks; ++r) {
    const auto span = workload.access(r, call).span();
    if (span.empty()) continue;
    low = std::min(low, span.begin), high = std::max(high, span.end);
  }
  begin = high > 0 ? low : 0;
  std::vector<int> owner(static_cast<std::size_t>(std::max<std::int64_t>(0, high - begin)), -1);
  for (int r = 0; r < workload.parameters().ranks; ++r) {
    const auto mine = workload.access(r, call);
    for (auto position = mine.begin; position < mine.end; ++position) {
      auto& byte = owner[static_cast<std::size_t>(mine.file.offset_of(position) - begin)];
      EXPECT_EQ(byte, -1) << "two ranks own a byte";
      byte = r;
    }
  }
  return owner;
}

struct Forced {
  std::int64_t bytes = 0, messages = 0, inside = 0, cycles = 0, metadata = 0;
};

/// Bytes of each rank in one window.
std::vector<std::int64_t> bytes_in_window(const std::vector<int>& owner, std::int64_t begin,
                                          const Run& window, int ranks) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(ranks));
  for (std::int64_t block = 0; block < window.count; ++block)
    for (std::int64_t i = 0; i < window.length; ++i) {
      const auto place = window.block(block) + i - begin;
      if (place < 0 || place >= static_cast<std::int64_t>(owner.size())) continue;
      const int rank = owner[static_cast<std::size_t>(place)];
      if (rank >= 0) ++bytes[static_cast<std::size_t>(rank)];
    }
  return bytes;
}

Forced force_windows(const Plan& plan, const Call& c) {
  std::int64_t begin = 0;
  const auto owner = owners(c.workload, c.number, begin);
  const int ranks = c.topology.ranks();
  Forced sum;
  for (const auto& aggregator : plan.aggregators) {
    const int home = c.topology.node_of(aggregator.rank);
    for (std::int64_t w = 0; w < window_count(aggregator.domain, plan.cycle_bytes); ++w) {
      const auto window = window_of(aggregator.domain, plan.cycle_bytes, w);
      const auto bytes = bytes_in_window(owner, begin, window, ranks);
      std::map<int, std::int64_t> relayed;  // node -> bytes, for nodes that meet the window
      bool met = false;
      for (int r = 0; r < ranks; ++r) {
        const auto& summary = c.ranks[static_cast<std::size_t>(r)];
        if (plan.group(r) != aggregator.group || summary.empty()) continue;
        const auto windows = windows_meeting(aggregator.domain, plan.cycle_bytes, summary.span());
        if (w < windows.begin || w >= windows.end) continue;
        met = true;
        const int node = c.topology.node_of(r);
        const auto mine = bytes[static_cast<std::size_t>(r)];
        if (node == home || !plan.relay_of_node.empty()) sum.inside += mine;
        if (node == home) continue;
        if (!plan.relay_of_node.empty()) {
          relayed[node] += mine;
          continue;
        }
        sum.bytes += mine;
        sum.messages += 1 + (!c.writing && mine > 0 ? 1 : 0);
        Bytes out;
        encode(runs_in(c.workload.access(r, c.number), window), out);
        sum.metadata += 16 + static_cast<std::int64_t>(out.size());
      }
      sum.cycles += met ? 1 : 0;
      for (const auto& [node, mine] : relayed) {
        sum.bytes += mine;
        sum.messages += 1 + (!c.writing && mine > 0 ? 1 : 0);
        ++sum.cycles;
      }
    }
  }
  return sum;
}

WorkloadParameters small(const std::string& name, int ranks, std::int64_t bytes,
                         std::int64_t piece) {
  WorkloadParameters p;
  p.name = name;
  p.ranks = ranks;
  p.bytes_per_rank = bytes;
  p.piece = piece;
  p.width = 3;
  p.height = 5;
  return p;
}

Scenario scenario_of(const WorkloadParameters& workload, int nodes, bool writing) {
  Scenario s;
  s.machine.ranks = workload.ranks;
  s.machine.nodes = nodes;
  s.machine.cores = 2;
  s.machine.servers.unit = 8192;
  s.machine.servers.count = 3;
  s.workload = workload;
  s.parameters.cycle_bytes = 16384;
  s.writing = writing;
  return s;
}

void expect_as_forced(const Scenario& scenario) {
  const Model model(scenario);
  const StrategyTable table;
  for (const auto& strategy : table.rows()) {
    if (strategy.name == "native" || strategy.name == "mapped" ||
        strategy.name == "static_segmentation")
      continue;
    for (std::int64_t number = 0; number < std::min<std::int64_t>(2, model.workload().calls());
         ++number) {
      SCOPED_TRACE(strategy.name + " " + scenario.workload.name +
                   (scenario.writing ? " write" : " read") + " piece " +
                   std::to_string(scenario.workload.piece));
      const auto ranks = model.workload().summaries(number);
      const Call call{model.workload(),   number,          model.topology(), ranks,
                      model.parameters(), scenario.writing};
      const auto plan = strategy.plan({model.topology(), ranks, model.parameters(),
                                       seats_per_node(model.parameters(), model.topology())});
      const auto counted = count_traffic(plan, call);
      EXPECT_FALSE(counted.sampled);
      if (plan.exchange != Exchange::windows) {
        EXPECT_EQ(counted.messages_between_nodes, 0);
        continue;
      }
      const auto forced = force_windows(plan, call);
      EXPECT_EQ(counted.bytes_between_nodes, forced.bytes);
      EXPECT_EQ(counted.messages_between_nodes, forced.messages);
      EXPECT_EQ(counted.bytes_in_node, forced.inside);
      EXPECT_EQ(counted.cycles, forced.cycles);
      if (plan.relay_of_node.empty()) {
        EXPECT_EQ(counted.metadata_bytes, forced.metadata);
      }
    }
  }
}

// -- tests
// ------------------------------------------------------------------------------------------------------------

TEST(ModelTraffic, EqualsCountingByForceForEveryWorkloadAndStrategy) {
  for (const auto& name : Workload::names())
    for (const std::int64_t piece : {64, 3000, 20000})
      for (const bool writing : {true, false})
        expect_as_forced(
            scenario_of(small(name, 7, 40000, name == "tile" ? piece / 8 * 2 : piece), 3, writing));
}

TEST(ModelTraffic, EqualsCountingByForceWithMoreRanksThanRows) {
  for (const auto* name : {"everyone4k", "irregular", "matrix"})
    expect_as_forced(scenario_of(small(name, 16, 6000, 500), 4, false));
}

RC_GTEST_PROP(ModelTraffic, EqualsCountingByForceForRandomSizes, ()) {
  const auto& names = Workload::names();
  auto workload = small(
      names[static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(names.size())))],
      *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 12000), 4 * *rc::gen::inRange(1, 1500));
  if (workload.name == "tile") workload.piece = *rc::gen::inRange(1, 400);
  workload.seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const int nodes = *rc::gen::inRange(1, workload.ranks + 1);
  auto scenario = scenario_of(workload, nodes, *rc::gen::arbitrary<bool>());
  scenario.parameters.cycle_bytes = 4096 * *rc::gen::inRange(1, 5);
  scenario.machine.servers.unit = *rc::gen::element<std::int64_t>(4096, 5000, 16384);
  expect_as_forced(scenario);
  RC_ASSERT(!::testing::Test::HasFailure());
}

TEST(ModelTraffic, SlotPacketsFillTheirSlots) {
  const auto scenario = scenario_of(small("vector", 6, 30000, 100), 3, true);
  Scenario two = scenario;
  two.parameters.group_size = 6;  // one group over all nodes, so that packets cross
  const Model model(two);
  const StrategyTable table;
  const auto ranks = model.workload().summaries(0);
  const Call call{model.workload(), 0, model.topology(), ranks, model.parameters(), true};
  const auto plan = table.rows()[static_cast<std::size_t>(*table.find("static_segmentation"))].plan(
      {model.topology(), ranks, model.parameters(),
       seats_per_node(model.parameters(), model.topology())});
  ASSERT_EQ(plan.exchange, Exchange::slots);
  const auto counted = count_traffic(plan, call);
  // 16384 / 6 rounded down to 64 is 2688; less the header 64, a quarter for descriptions: 1968
  // bytes of data.
  std::int64_t crossing = 0;
  for (int r = 0; r < 6; ++r)
    if (model.topology().node_of(r) != model.topology().node_of(plan.aggregators[0].rank))
      ++crossing;
  EXPECT_EQ(crossing, 4);
  EXPECT_EQ(counted.messages_between_nodes, crossing * ((30000 + 1967) / 1968));
  EXPECT_EQ(counted.bytes_between_nodes, crossing * 30000);
}

RC_GTEST_PROP(ModelOverlap, CommonBytesEqualCountingByForce, ()) {
  const auto run = [] {
    Run r{*rc::gen::inRange<std::int64_t>(0, 200), *rc::gen::inRange<std::int64_t>(1, 30), 0,
          *rc::gen::inRange<std::int64_t>(1, 20)};
    if (r.count > 1) r.stride = r.length + *rc::gen::inRange<std::int64_t>(0, 40);
    return r;
  };
  const auto a = run(), b = run();
  std::set<std::int64_t> bytes;
  for (std::int64_t i = 0; i < a.count; ++i)
    for (std::int64_t k = 0; k < a.length; ++k) bytes.insert(a.block(i) + k);
  std::int64_t common = 0;
  for (std::int64_t i = 0; i < b.count; ++i)
    for (std::int64_t k = 0; k < b.length; ++k)
      common += static_cast<std::int64_t>(bytes.count(b.block(i) + k));
  RC_ASSERT(common_bytes(a, b) == common);
  RC_ASSERT(common_bytes(b, a) == common);
}

RC_GTEST_PROP(ModelOverlap, WindowsEqualThePlansOwn, ()) {
  Run domain{*rc::gen::inRange<std::int64_t>(0, 50), *rc::gen::inRange<std::int64_t>(1, 40), 0,
             *rc::gen::inRange<std::int64_t>(1, 12)};
  if (domain.count > 1) domain.stride = domain.length + *rc::gen::inRange<std::int64_t>(0, 30);
  const auto cycle = *rc::gen::inRange<std::int64_t>(1, 90);
  const auto begin = *rc::gen::inRange<std::int64_t>(0, 700);
  const Extent range{begin, begin + *rc::gen::inRange<std::int64_t>(1, 300)};
  const auto met = windows_meeting(domain, cycle, range);
  const auto first = windows_ended(domain, cycle, range.begin),
             last = windows_begun(domain, cycle, range.end);
  RC_ASSERT(std::max<std::int64_t>(0, last - first) == met.size());
  if (!met.empty()) {
    RC_ASSERT(first == met.begin);
  }

  const auto holding = windows_holding(domain, cycle, range);
  std::set<std::int64_t> forced;
  for (std::int64_t w = 0; w < window_count(domain, cycle); ++w) {
    const auto window = window_of(domain, cycle, w);
    for (std::int64_t i = 0; i < window.count; ++i)
      if (!intersect({window.block(i), window.block(i) + window.length}, range).empty())
        forced.insert(w);
  }
  RC_ASSERT(holding.size() == static_cast<std::int64_t>(forced.size()));
  if (!forced.empty()) {
    RC_ASSERT(holding.begin == *forced.begin());
  }
}

TEST(ModelStorage, OneAscendingStreamPerServerSeeksOnce) {
  auto scenario = scenario_of(small("vector", 6, 1 << 20, 4096), 3, true);
  const Model model(scenario);
  const StrategyTable table;
  const auto disk_first =
      model.predict(table.rows()[static_cast<std::size_t>(*table.find("disk_first"))], 0);
  const auto individual =
      model.predict(table.rows()[static_cast<std::size_t>(*table.find("individual"))], 0);
  ASSERT_TRUE(disk_first && individual);
  EXPECT_EQ(disk_first->storage.seeks, 3);
  EXPECT_EQ(disk_first->storage.bytes, 6 << 20);
  EXPECT_EQ(individual->storage.requests, 6 * 256);
  EXPECT_GT(individual->storage.seeks, 500);
  EXPECT_LT(disk_first->seconds.storage, individual->seconds.storage);
}

TEST(ModelStorage, AServerWorksThroughItsQueueInOrder) {
  Servers servers;
  servers.count = 1;
  servers.bandwidth = 1000;
  servers.seek_s = 1;
  servers.request_s = 0;
  servers.unit = 100;
  const auto use =
      simulate({{{{0, 100, 100, 2}}, 1, false}, {{{500, 100, 0, 1}}, 1, false}}, servers, 0);
  // 0..100 seeks, 500..600 seeks, 100..200 seeks again.
  EXPECT_EQ(use.seeks, 3);
  EXPECT_DOUBLE_EQ(use.busiest_s, 3 * 1.1);
  const auto in_turn =
      simulate({{{{0, 100, 100, 2}}, 1, false}, {{{500, 100, 0, 1}}, 1, false}}, servers, 1);
  EXPECT_EQ(in_turn.seeks, 2);
}

TEST(ModelNative, ListsCostSixteenBytesAPiece) {
  auto scenario = scenario_of(small("vector", 8, 4096, 64), 2, true);
  const Model model(scenario);
  const auto ranks = model.workload().summaries(0);
  const Call call{model.workload(), 0, model.topology(), ranks, model.parameters(), true};
  const auto native = count_native(call);
  // 8 ranks of 64 pieces; half of each rank's pieces belong to the aggregator on the other node.
  EXPECT_EQ(native.list_bytes, 8 * 64 / 2 * 16);
  EXPECT_EQ(native.traffic.bytes_between_nodes, 8 * 4096 / 2);
  EXPECT_EQ(native.traffic.messages_between_nodes, 8);
}

TEST(Model, RefusesWhatCannotBe) {
  Scenario scenario;
  scenario.machine.nodes = 17;
  EXPECT_THROW(Model{scenario}, std::invalid_argument);
  scenario = {};
  scenario.workload.name = "nonsense";
  EXPECT_THROW(Model{scenario}, std::invalid_argument);
  scenario = {};
  scenario.machine.servers.bandwidth = 0;
  EXPECT_THROW(Model{scenario}, std::invalid_argument);
}

TEST(Model, AMillionRanksTakeSeconds) {
  const auto started = std::clock();  // processor time: other tests run meanwhile
  Scenario scenario;
  scenario.machine.ranks = 1'000'000;
  scenario.machine.nodes = 10'000;
  scenario.machine.cores = 100;
  scenario.workload.name = "vector";
  scenario.workload.piece = 4096;
  scenario.workload.bytes_per_rank = 1 << 18;
  scenario.parameters.cycle_bytes = 1 << 20;
  const Model model(scenario);
  const StrategyTable table;
  const auto two_phase =
      model.predict(table.rows()[static_cast<std::size_t>(*table.find("two_phase"))], 0);
  ASSERT_TRUE(two_phase);
  EXPECT_EQ(two_phase->bytes, std::int64_t{1'000'000} << 18);
  EXPECT_LT(static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC, 20);
}

}  // namespace
}  // namespace choir::model
