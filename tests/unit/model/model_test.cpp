// The model's arithmetic against counting byte by byte and window by window, as the engine does.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
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

/// What a window holds, byte by byte, in buffer coordinates.
struct Contents {
  std::vector<std::vector<bool>> bytes;  ///< by rank
  std::vector<bool> covered;             ///< by rank: its shape has a byte here
};

bool in_shape(const RankSummary& rank, std::int64_t offset) {
  const auto stretch = next_stretch(rank.shape, rank.span(), offset);
  return !stretch.empty() && stretch.begin == offset;
}

Contents contents(const std::vector<int>& owner, std::int64_t begin, const Run& window,
                  std::span<const RankSummary> ranks) {
  Contents all;
  all.bytes.assign(ranks.size(), std::vector<bool>(static_cast<std::size_t>(window.bytes())));
  all.covered.resize(ranks.size());
  for (std::int64_t i = 0; i < window.bytes(); ++i) {
    const auto offset = window.block(i / window.length) + i % window.length;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      if (!ranks[r].empty() && !all.covered[r]) all.covered[r] = in_shape(ranks[r], offset);
    if (offset < begin || offset - begin >= static_cast<std::int64_t>(owner.size())) continue;
    const int rank = owner[static_cast<std::size_t>(offset - begin)];
    if (rank >= 0) all.bytes[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)] = true;
  }
  return all;
}

/// Description of a message about these bytes, and twice its length in front, seven bits a byte.
std::int64_t overhead(const Runs& runs) {
  Bytes out;
  encode(runs, out);
  auto bytes = static_cast<std::int64_t>(out.size()) + 1;
  for (auto rest = out.size() * 2; rest >= 128; rest /= 128) ++bytes;
  return bytes;
}

Runs stretches(const std::vector<bool>& bytes) {
  Runs runs;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!bytes[i]) continue;
    const auto first = i;
    while (i < bytes.size() && bytes[i]) ++i;
    append(runs, {static_cast<std::int64_t>(first), static_cast<std::int64_t>(i - first), 0, 1});
  }
  return runs;
}

void add_message(Forced& sum, const Runs& runs, std::int64_t bytes, bool writing) {
  sum.bytes += bytes;
  sum.metadata += overhead(runs);
  ++sum.messages;
  if (writing) return;
  sum.messages += bytes > 0 ? 1 : 0;
  sum.metadata += bytes > 0 ? 8 : 0;  // the end of file
}

Forced force_windows(const Plan& plan, const Call& c) {
  std::int64_t begin = 0;
  const auto owner = owners(c.workload, c.number, begin);
  const bool relays = !plan.relay_of_node.empty();
  Forced sum;
  for (const auto& aggregator : plan.aggregators) {
    const int home = c.topology.node_of(aggregator.rank);
    for (std::int64_t w = 0; w < window_count(aggregator.domain, plan.cycle_bytes); ++w) {
      const auto window = window_of(aggregator.domain, plan.cycle_bytes, w);
      const auto all = contents(owner, begin, window, c.ranks);
      std::map<int, std::vector<bool>> relayed;  // node -> its bytes
      bool met = false;
      for (int r = 0; r < c.topology.ranks(); ++r) {
        const auto i = static_cast<std::size_t>(r);
        const auto mine = std::count(all.bytes[i].begin(), all.bytes[i].end(), true);
        if (plan.group(r) != aggregator.group) continue;
        EXPECT_TRUE(all.covered[i] || mine == 0) << "a shape leaves out bytes of its rank";
        if (!all.covered[i]) continue;
        met = true;
        const int node = c.topology.node_of(r);
        if (node == home || relays) sum.inside += mine;
        if (node == home) continue;
        if (!relays) {
          add_message(sum, runs_in(c.workload.access(r, c.number), window), mine, c.writing);
          continue;
        }
        auto& bytes = relayed[node];
        bytes.resize(all.bytes[i].size());
        for (std::size_t b = 0; b < bytes.size(); ++b) bytes[b] = bytes[b] || all.bytes[i][b];
      }
      sum.cycles += met ? 1 : 0;
      for (const auto& [node, bytes] : relayed) {
        add_message(sum, stretches(bytes), std::count(bytes.begin(), bytes.end(), true), c.writing);
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
      const Call call{model.workload(), number, model.topology(), ranks, model.parameters(),
                      scenario.writing, true};
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
      EXPECT_EQ(counted.metadata_bytes, forced.metadata);
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
  const Call call{model.workload(), 0, model.topology(), ranks, model.parameters(), true, true};
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
  const Call call{model.workload(), 0, model.topology(), ranks, model.parameters(), true, true};
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
