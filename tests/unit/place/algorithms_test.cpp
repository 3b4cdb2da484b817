// algorithms_test.cpp: placements, machines, predictions and what is written for launchers.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

#include "place/cart.hpp"
#include "place/heatmap.hpp"
#include "place/output.hpp"
#include "place/placement.hpp"
#include "place/predict.hpp"
#include "place/recorder.hpp"

namespace choir::place {
namespace {

/// A number in [from, to), of full size from the first case on.
template <class Number>
Number pick(Number from, Number to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Number>(from, to));
}

std::vector<int> shuffled(int size, unsigned seed) {
  std::vector<int> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

/// Tile I/O whose ranks are permuted: rank r has the tile of `tile_of[r]`.
Recording tiles(const Cart& cart, const std::vector<int>& tile_of) {
  const auto grid = runs_of(cart);
  GatheredRuns runs;
  for (const int tile : tile_of) runs.append_rank(grid.of(tile));
  Recorder recorder(cart.ranks());
  recorder.add_call(runs);
  return recorder.recording();
}

/// A problem that owns what it refers to.
struct Case {
  Case(Recording r, Machine m, Fill fill = Fill::spread)
      : recording(std::move(r)),
        machine(std::move(m)),
        graph(graph_of(recording.contacts(), recording.ranks)),
        position(positions_of(recording)),
        problem{recording, graph, position, machine, loads(machine, recording.ranks, fill)} {}
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  Recording recording;
  Machine machine;
  Graph graph;
  std::vector<double> position;
  Problem problem;
};

std::vector<int> counts(const std::vector<int>& node_of, int nodes) {
  std::vector<int> result(static_cast<std::size_t>(nodes));
  for (const int node : node_of) ++result.at(static_cast<std::size_t>(node));
  return result;
}

/// Groups of equal size whose members are tied together heavily, with light noise between groups.
struct Planted {
  PairSums sums;
  std::vector<int> group_of;
};
Planted planted(int groups, int size, unsigned seed) {
  const int ranks = groups * size;
  const auto name = shuffled(ranks, seed);
  std::mt19937 random(seed + 1);
  Planted result;
  result.group_of.resize(static_cast<std::size_t>(ranks));
  const auto at = [&](int i) { return name[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < ranks; ++i) {
    result.group_of[static_cast<std::size_t>(at(i))] = i / size;
    const int first = i / size * size;
    if (size > 1)
      result.sums.add(at(i), at(first + (i - first + 1) % size), 1,
                      1000 + static_cast<int>(random() % 1000));
    result.sums.add(at(i), at(static_cast<int>(random() % static_cast<unsigned>(ranks))), 1,
                    1 + static_cast<int>(random() % 9));
  }
  return result;
}

bool recovers(const std::vector<int>& node_of, const std::vector<int>& group_of) {
  std::map<int, int> node_of_group;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank)
    if (node_of_group.try_emplace(group_of[rank], node_of[rank]).first->second != node_of[rank])
      return false;
  return true;
}

RC_GTEST_PROP(SetMatch, RecoversPlantedGroups, ()) {
  const auto groups = pick<int>(1, 12), size = pick<int>(1, 17);
  const auto instance = planted(groups, size, pick<unsigned>(0, 1000));
  const auto graph = graph_of(instance.sums, groups * size);
  const std::vector<int> load(static_cast<std::size_t>(groups), size);
  const std::vector<double> position(instance.group_of.size());
  RC_ASSERT(recovers(setmatch({graph, load, position}), instance.group_of) || size == 1);
}

RC_GTEST_PROP(EveryAlgorithm, FillsNodesExactlyAndSeatsRanksOnDistinctCores, ()) {
  const auto x = pick<int>(1, 7), y = pick<int>(1, 7);
  const Cart cart{{x, y}, {4, 4}, 8};
  Machine machine;
  const auto nodes = pick<int>(1, 5);
  for (int i = 0; i < nodes; ++i)
    machine.nodes.push_back({"n" + std::to_string(i), pick<int>(1, 20)});
  machine.nodes.push_back({"last", 40});
  machine.levels = {{"socket", 2}, {"core", 4}};
  const Case one(tiles(cart, shuffled(cart.ranks(), pick<unsigned>(0, 100))), machine);
  for (const auto& algorithm : algorithms()) {
    const auto placement = algorithm.place(one.problem);
    RC_ASSERT(counts(placement.node_of, machine.size()) == one.problem.load);
    std::set<std::pair<int, int>> seats;
    for (std::size_t rank = 0; rank < placement.node_of.size(); ++rank) {
      const int node = placement.node_of[rank], core = placement.core_of[rank];
      RC_ASSERT(core >= 0 && core < machine.nodes[static_cast<std::size_t>(node)].cores);
      RC_ASSERT(seats.emplace(node, core).second);
    }
  }
}

TEST(SetMatch, SetsAreIndependent) {
  PairSums sums;  // 0-2, 1-3 and 2-3 heavy: Algorithm 2 alone would leave {0,2} and {1,3} apart
  sums.add(0, 2, 1, 100);
  sums.add(1, 3, 1, 100);
  sums.add(2, 3, 1, 100);
  sums.add(3, 4, 1, 5);
  EXPECT_EQ(independent_sets(graph_of(sums, 5), 10), (std::vector<int>{0, 0, 0, 0, 1}));
}

TEST(SetMatch, ASetThatFitsNowhereIsCutWhereItIsLight) {
  PairSums sums;  // a chain of six, light in the middle
  const int weight[] = {90, 80, 20, 80, 90};
  for (int i = 0; i < 5; ++i) sums.add(i, i + 1, 1, weight[i]);
  const auto graph = graph_of(sums, 6);
  const std::vector<int> load{3, 3};
  const std::vector<double> position{0, .1, .2, .3, .4, .5};
  EXPECT_DOUBLE_EQ(cut_weight(graph, setmatch({graph, load, position})), 20);
}

TEST(SetMatch, UnequalNodesGetTheSetsThatFit) {
  PairSums sums;
  for (int i = 0; i < 3; ++i) sums.add(i, i + 1, 1, 100);  // {0,1,2,3}
  sums.add(4, 5, 1, 100);                                  // {4,5}
  const auto graph = graph_of(sums, 6);
  const std::vector<int> load{2, 4};
  const std::vector<double> position(6);
  EXPECT_EQ(setmatch({graph, load, position}), (Parts{1, 1, 1, 1, 0, 0}));
}

TEST(Placement, PermutedTilesAreBroughtTogetherAgain) {
  const Cart cart{{16, 8}, {64, 64}, 8};
  const Case one(tiles(cart, shuffled(128, 7)), uniform_machine(4, 32));
  const auto bytes = [&](const Parts& parts) {
    return predict(one.recording, one.machine, parts, "two_phase", {}).between_nodes;
  };
  const double slot = bytes(byslot(one.machine, 128)), node = bytes(bynode(one.machine, 128));
  for (const char* name : {"setmatch", "setmatchg", "ranges", "treematch", "scotch"}) {
    const double placed = bytes(algorithm(name).place(one.problem).node_of);
    EXPECT_LT(placed, 0.2 * slot) << name;
    EXPECT_LT(placed, 0.2 * node) << name;
  }
}

TEST(Placement, FewerRanksThanCoresAreSpread) {
  const Cart cart{{16, 8}, {8, 8}, 8};
  const Case one(tiles(cart, shuffled(128, 3)), uniform_machine(4, 48));
  EXPECT_EQ(one.problem.load, (std::vector<int>{32, 32, 32, 32}));
  EXPECT_EQ(counts(byslot(one.machine, 128), 4), (std::vector<int>{48, 48, 32, 0}));
}

TEST(Placement, TheSpecialCaseKeepsRowsOnNodes) {
  const auto cart = parse_cart("8x4", "", 8);
  Case one(tiles(cart,
                 [] {
                   std::vector<int> v(32);
                   std::iota(v.begin(), v.end(), 0);
                   return v;
                 }()),
           uniform_machine(4, 8));
  one.problem.given_set = special_sets(cart);
  EXPECT_TRUE(recovers(algorithm("setmatch").place(one.problem).node_of, one.problem.given_set));
}

TEST(Placement, MpippImprovesOnItsRandomStart) {
  const Cart cart{{4, 4}, {8, 8}, 8};
  Case one(tiles(cart, shuffled(16, 5)), uniform_machine(4, 4));
  const auto improved = cut_weight(one.graph, mpipp(one.problem));
  one.problem.mpipp_passes = 0;
  EXPECT_LT(improved, cut_weight(one.graph, mpipp(one.problem)));
}

TEST(Placement, GroupsThatTalkGoToNodesThatAreClose) {
  PairSums sums;
  sums.add(0, 1, 1, 100);  // two groups {0,1} and {4,5} that talk, {2,3} that does not
  sums.add(2, 3, 1, 100);
  sums.add(4, 5, 1, 100);
  sums.add(1, 4, 1, 9);
  auto machine = uniform_machine(3, 2);
  machine.cost = {0, 9, 1, 9, 0, 9, 1, 9, 0};  // nodes 0 and 2 are close
  Parts parts{0, 0, 2, 2, 1, 1};
  arrange_groups(graph_of(sums, 6), machine, std::vector<int>{2, 2, 2}, parts);
  EXPECT_EQ((std::set<int>{parts[0], parts[4]}), (std::set<int>{0, 2}));
}

TEST(Treematch, NeighboursShareASocket) {
  PairSums sums;
  for (int i = 0; i < 8; i += 2)
    sums.add(i / 2, i / 2 + 4, 1, 100);  // pairs (0,4) (1,5) (2,6) (3,7)
  Recording recording;
  recording.ranks = 8;
  recording.call_contacts = sums;
  auto machine = uniform_machine(2, 4);
  machine.levels = {{"socket", 2}, {"core", 2}};
  const Case one(recording, machine);
  const auto placement = treematch(one.problem);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(placement.node_of[i], placement.node_of[i + 4]);
    EXPECT_EQ(placement.core_of[i] / 2, placement.core_of[i + 4] / 2);
  }
}

TEST(Predict, CoreFirstNeverLeavesItsNode) {
  const Cart cart{{4, 4}, {8, 8}, 8};
  const Case one(tiles(cart, shuffled(16, 2)), uniform_machine(4, 4));
  const auto parts = bynode(one.machine, 16);
  EXPECT_EQ(predict(one.recording, one.machine, parts, "core_first", {}).between_nodes, 0);
  EXPECT_EQ(predict(one.recording, one.machine, parts, "individual", {}).between_nodes, 0);
  const auto traffic = predict(one.recording, one.machine, parts, "two_phase", {});
  EXPECT_GT(traffic.between_nodes, 0);
  EXPECT_EQ(traffic.all, 16 * 8 * 8 * 8);
  EXPECT_THROW(predict(one.recording, one.machine, parts, "nonsense", {}), std::invalid_argument);
}

TEST(Predict, TwoPhaseOnAlignedRowsStaysLocal) {
  const Cart cart{{4, 4}, {64, 64}, 8};
  std::vector<int> order(16);
  std::iota(order.begin(), order.end(), 0);
  const Case one(tiles(cart, order), uniform_machine(4, 4));
  const auto traffic =
      predict(one.recording, one.machine, byslot(one.machine, 16), "two_phase", {});
  EXPECT_LE(traffic.between_nodes, 0.05 * traffic.all);  // ranges are cut at whole pages
}

/// BT-IO: q x q ranks, each with one cell of the cube in every layer, shifted along the diagonal.
Recording diagonal_cells(int q, const std::vector<int>& name) {
  constexpr std::int64_t cell = 4, point = 40;  // points a side, bytes of a point
  const std::int64_t row = cell * q * point, plane = row * cell * q;
  std::vector<std::vector<AccessRun>> of(static_cast<std::size_t>(q * q));
  for (int rank = 0; rank < q * q; ++rank)
    for (int layer = 0; layer < q; ++layer)
      for (std::int64_t z = 0; z < cell; ++z)
        of[static_cast<std::size_t>(name[static_cast<std::size_t>(rank)])].push_back(
            {(layer * cell + z) * plane + (rank / q - layer + q) % q * cell * row +
                 (rank % q + layer) % q * cell * point,
             cell * point, row, cell});
  GatheredRuns runs;
  for (const auto& one : of) runs.append_rank(one);
  Recorder recorder(q * q);
  recorder.add_call(runs);
  return recorder.recording();
}

TEST(Choose, ATieInBytesIsDecidedByTheNeighbours) {
  // Under two_phase every placement of a diagonal decomposition sends the same; segments gain.
  const Case one(diagonal_cells(4, shuffled(16, 11)), uniform_machine(4, 4));
  PredictOptions options;
  options.parameters.aggregators_per_node = 1;
  std::vector<Choice> candidates{{"bynode", with_cores(one.machine, bynode(one.machine, 16))},
                                 {"setmatch", algorithm("setmatch").place(one.problem)}};
  const auto bytes = [&](std::size_t i, const char* strategy) {
    return predict(one.recording, one.machine, candidates[i].placement.node_of, strategy, options)
        .between_nodes;
  };
  EXPECT_NEAR(bytes(0, "two_phase"), bytes(1, "two_phase"), 0.05 * bytes(0, "two_phase"));
  EXPECT_EQ(bytes(1, "dynamic_segmentation"), 0);
  EXPECT_GT(bytes(0, "dynamic_segmentation"), 0);
  EXPECT_EQ(choose(candidates, one.problem, "two_phase", options).name, "setmatch");
}

TEST(CartMatrix, IsTheThesisExample) {
  const auto cart = parse_cart("2x4", "", 8);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) EXPECT_EQ(special_entry(cart, a, b), a / 4 == b / 4 ? 4 : 0);
  EXPECT_THROW(parse_cart("2x", "", 8), std::invalid_argument);
  EXPECT_THROW(parse_cart("2x0", "", 8), std::invalid_argument);
  EXPECT_THROW(parse_cart("7", "", 8), std::invalid_argument);
  EXPECT_THROW(parse_cart("2x2", "1x1x1", 8), std::invalid_argument);
}

TEST(Machine, ReadsHostfiles) {
  std::istringstream in("# cluster\nn1 slots=4 max_slots=8\nn2:2\n\nn3\nn3\n");
  EXPECT_EQ(read_hostfile(in, "h").nodes, (std::vector<Node>{{"n1", 4}, {"n2", 2}, {"n3", 2}}));
  std::istringstream bad("n1 slots=none\n"), none("# nothing\n");
  EXPECT_THROW(read_hostfile(bad, "h"), std::invalid_argument);
  EXPECT_THROW(read_hostfile(none, "h"), std::invalid_argument);
}

TEST(Machine, ReadsSlurm) {
  std::map<std::string, std::string> values{{"SLURM_JOB_NODELIST", "n[08-10,3],login"},
                                            {"SLURM_JOB_CPUS_PER_NODE", "16(x4),8"}};
  const auto environment = [&](const char* name) -> const char* {
    const auto at = values.find(name);
    return at == values.end() ? nullptr : at->second.c_str();
  };
  EXPECT_EQ(slurm_machine(environment).nodes,
            (std::vector<Node>{{"n08", 16}, {"n09", 16}, {"n10", 16}, {"n3", 16}, {"login", 8}}));
  values["SLURM_JOB_CPUS_PER_NODE"] = "16(x3)";
  EXPECT_THROW(slurm_machine(environment), std::invalid_argument);
  values.clear();
  EXPECT_THROW(slurm_machine(environment), std::invalid_argument);
}

TEST(Machine, LoadsAddUpAndRefuseTooMany) {
  Machine machine;
  machine.nodes = {{"a", 4}, {"b", 12}, {"c", 8}};
  EXPECT_EQ(loads(machine, 12, Fill::spread), (std::vector<int>{2, 6, 4}));
  EXPECT_EQ(loads(machine, 12, Fill::packed), (std::vector<int>{4, 8, 0}));
  EXPECT_THROW(loads(machine, 25, Fill::spread), std::invalid_argument);
  EXPECT_EQ(loads(machine, 48, Fill::spread, true), (std::vector<int>{8, 24, 16}));
  machine.nodes[2].name = "a";
  EXPECT_THROW(check(machine), std::invalid_argument);
}

TEST(Output, SpeaksToLaunchers) {
  const auto machine = uniform_machine(2, 4);
  const Placement placement{{0, 0, 1, 0}, {0, 1, 0, 2}};
  const auto text = [&](const char* format) {
    std::ostringstream out;
    write_placement(out, format, machine, placement);
    return out.str();
  };
  EXPECT_EQ(text("openmpi"),
            "rank 0=node0 slot=0\nrank 1=node0 slot=1\nrank 2=node1 slot=0\nrank 3=node0 slot=2\n");
  EXPECT_EQ(text("mpich"), "node0:2\nnode1:1\nnode0:1\n");
  EXPECT_EQ(text("slurm"), "node0\nnode0\nnode1\nnode0\n");
  EXPECT_EQ(text("list"), "0 node0 0\n1 node0 1\n2 node1 0\n3 node0 2\n");
  EXPECT_THROW(text("pbs"), std::invalid_argument);
}

TEST(Heatmap, DrawsOnePanelPerPlacement) {
  PairSums sums;
  sums.add(0, 1, 1, 10);
  std::ostringstream out;
  write_heatmap(out, graph_of(sums, 2), {{"before <x>", {0, 1}}, {"after", {0, 0}}});
  EXPECT_NE(out.str().find("before &lt;x&gt;"), std::string::npos);
  EXPECT_NE(out.str().find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace choir::place
