// Which ranks own which files: the paper's example, the quotas, and all methods against each other
// and against trying everything.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>

#include "multi/assignment_cost.hpp"
#include "multi/assignment_greedy.hpp"
#include "multi/assignment_links.hpp"
#include "multi/assignment_matching.hpp"
#include "multi/assignment_study.hpp"

namespace choir::multi {
namespace {

using Owners = std::vector<std::vector<int>>;

// The paper's Table 1, in units of 0.1 MB.
Problem table_1() {
  const std::vector<std::int64_t> cells{
      100, 128, 128, 44, 0,   0,   0,   0,   //
      100, 128, 128, 44, 0,   0,   0,   0,   //
      25,  32,  32,  11, 75,  96,  96,  33,  //
      0,   0,   0,   0,  100, 128, 128, 44,
  };
  return {.requests = RequestMatrix::from_dense(4, 8, cells)};
}

// The same, rounded to MB as in the program of the paper's appendix.
Problem appendix() {
  const std::vector<std::int64_t> cells{
      10, 12, 12, 5, 0,  0,  0,  0,  //
      10, 12, 12, 5, 0,  0,  0,  0,  //
      2,  3,  3,  2, 7,  9,  9,  3,  //
      0,  0,  0,  0, 10, 12, 12, 5,
  };
  return {.requests = RequestMatrix::from_dense(4, 8, cells)};
}

// Figure 6; the paper counts ranks and files from 1.
const Owners figure_6{{1}, {0}, {0}, {1}, {2}, {3}, {3}, {2}};
// Figure 7 and the solution in the appendix.
const Owners figure_7{{1}, {1}, {0}, {0}, {2}, {3}, {3}, {2}};

Problem dense(int ranks, int files, std::vector<std::int64_t> cells) {
  return {.requests = RequestMatrix::from_dense(ranks, files, cells)};
}

std::vector<int> files_per_rank(const Problem& problem, const Assignment& assignment) {
  std::vector<int> counts;
  for (const auto& rank : evaluate(problem, assignment).ranks) counts.push_back(rank.files);
  return counts;
}

TEST(Assignment, GreedyGivesFigure6) {
  EXPECT_EQ(assign_greedy(table_1()).owners, figure_6);
  EXPECT_EQ(assign_greedy(appendix()).owners, figure_6);
}

TEST(Assignment, MatchingGivesFigure7) { EXPECT_EQ(assign_matching(table_1()).owners, figure_7); }

TEST(Assignment, ExactGivesFigure7) {
  if (!exact_available()) GTEST_SKIP() << "built without CBC";
  const auto exact = assign_exact(table_1());
  EXPECT_TRUE(exact.proven);
  EXPECT_EQ(exact.assignment.owners, figure_7);
}

TEST(Assignment, TheAppendixCommunicates82) {
  const auto problem = appendix();
  EXPECT_EQ(evaluate(problem, {figure_7}).communication, 82);
  EXPECT_EQ(evaluate(problem, assign_greedy(problem)).communication, 82);
  EXPECT_EQ(evaluate(problem, assign_matching(problem)).communication, 82);
  if (exact_available()) {
    EXPECT_EQ(evaluate(problem, assign_exact(problem).assignment).communication, 82);
  }
}

TEST(Assignment, CostIsThePapersFormula) {
  const auto problem = table_1();
  const auto cost = evaluate(problem, {figure_6});
  // Rank 1 owns files 2 and 3: 288 + 288 of I/O, of which 128 + 128 are its own; it sends 144.
  EXPECT_EQ(cost.ranks[0].io_bytes, 576);
  EXPECT_EQ(cost.ranks[0].moved_bytes, 2 * 160 + 144);
  EXPECT_EQ(cost.ranks[0].time, 576 + 464);
  EXPECT_EQ(cost.max_io_bytes, 576);
}

TEST(Assignment, UnevenNumbersOfFilesDifferByOne) {
  const auto problem = dense(3, 5, std::vector<std::int64_t>(15, 7));
  for (const auto& assignment : {assign_greedy(problem), assign_matching(problem)}) {
    auto counts = files_per_rank(problem, assignment);
    std::ranges::sort(counts);
    EXPECT_EQ(counts, (std::vector{1, 2, 2}));
  }
}

TEST(Assignment, MoreRanksThanFilesShareFilesByTheirSize) {
  // File 0 is three times file 1: of eight ranks, six and two.
  std::vector<std::int64_t> cells;
  for (int rank = 0; rank < 8; ++rank) cells.insert(cells.end(), {30, 10});
  const auto problem = dense(8, 2, cells);
  EXPECT_EQ(make_quotas(problem.requests).file_slots, (std::vector{6, 2}));
  for (const auto& assignment : {assign_greedy(problem), assign_matching(problem)}) {
    EXPECT_EQ(assignment.owners[0].size(), 6u);
    EXPECT_EQ(assignment.owners[1].size(), 2u);
    EXPECT_EQ(files_per_rank(problem, assignment), std::vector<int>(8, 1));
    EXPECT_EQ(evaluate(problem, assignment).max_io_bytes, 40);
  }
}

TEST(Assignment, AnOwnerKeepsNoMoreThanItsShare) {
  // Rank 0 asks for all 90 bytes, three ranks do 30 each: 60 move.
  const auto problem = dense(3, 1, {90, 0, 0});
  EXPECT_EQ(evaluate(problem, assign_greedy(problem)).communication, 60);
}

TEST(Assignment, AFileNobodyAsksForHasNoOwnerAndTakesNoPlace) {
  const auto problem = dense(2, 4, {5, 0, 9, 0, 5, 0, 9, 0});
  const auto greedy = assign_greedy(problem);
  EXPECT_EQ(greedy.owners, (Owners{{1}, {}, {0}, {}}));
  EXPECT_TRUE(assign_matching(problem).owners[1].empty());
  const auto nothing = dense(2, 3, std::vector<std::int64_t>(6, 0));
  EXPECT_EQ(assign_greedy(nothing).owners, Owners(3));
  EXPECT_EQ(assign_matching(nothing).owners, Owners(3));
  EXPECT_EQ(assign(Method::automatic, nothing).assignment.owners, Owners(3));
}

TEST(Assignment, TheByteLimitKeepsALargeFileAlone) {
  auto problem = dense(2, 4, {100, 10, 10, 10, 0, 0, 0, 0});
  EXPECT_EQ(evaluate(problem, assign_greedy(problem)).max_io_bytes, 110);
  problem.balance = Balance::bytes;
  EXPECT_EQ(byte_limit(problem), 100);
  for (const auto& assignment : {assign_greedy(problem), assign_matching(problem)})
    EXPECT_EQ(evaluate(problem, assignment).max_io_bytes, 100);
}

TEST(Assignment, ANodeThatAsksMostOwnsTheFile) {
  // Rank 3 asks most of file 0, but ranks 0 and 1 of the other node ask more together.
  auto problem = dense(4, 4, {6, 0, 0, 9, 6, 0, 0, 0, 0, 9, 0, 0, 8, 0, 7, 0});
  problem.node_of_rank = {0, 0, 1, 1};
  EXPECT_EQ(assign_greedy(problem).owners[0], std::vector{3});
  problem.intra_node_cost = 0;
  const auto owners = assign_matching(problem).owners;
  EXPECT_LT(owners[0][0], 2);
  EXPECT_LT(evaluate(problem, {owners}).communication,
            evaluate(problem, {{{3}, {2}, {1}, {0}}}).communication);
}

TEST(Assignment, MovesInsideANodeCostTheirFraction) {
  auto problem = dense(2, 2, {10, 4, 4, 10});
  problem.node_of_rank = {5, 5};
  problem.intra_node_cost = 0.25;
  EXPECT_EQ(evaluate(problem, {{{0}, {1}}}).communication, 2);
  problem.node_of_rank = {5, 6};
  EXPECT_EQ(evaluate(problem, {{{0}, {1}}}).communication, 8);
}

TEST(Assignment, BadInputSaysWhatIsWrong) {
  const std::vector<Request> outside{{2, 0, 1}};
  EXPECT_THROW(RequestMatrix::from_entries(2, 2, outside), std::invalid_argument);
  const std::vector<Request> negative{{0, 0, -1}};
  EXPECT_THROW(RequestMatrix::from_entries(2, 2, negative), std::invalid_argument);
  const std::vector<Request> huge(4, {0, 0, std::int64_t{1} << 60});
  EXPECT_THROW(RequestMatrix::from_entries(2, 2, huge), std::invalid_argument);
  EXPECT_THROW(RequestMatrix::from_entries(0, 2, {}), std::invalid_argument);
  EXPECT_THROW(dense(2, 2, {1, 2, 3}), std::invalid_argument);
  auto problem = dense(2, 2, {1, 2, 3, 4});
  problem.node_of_rank = {0};
  EXPECT_THROW(assign_greedy(problem), std::invalid_argument);
  problem.node_of_rank.clear();
  problem.intra_node_cost = 1.5;
  EXPECT_THROW(assign_greedy(problem), std::invalid_argument);
  EXPECT_THROW(evaluate(appendix(), {Owners(8)}), std::invalid_argument);
  EXPECT_THROW(evaluate(appendix(), {Owners(3)}), std::invalid_argument);
}

TEST(Assignment, RequestsOfOneCellAddUp) {
  const std::vector<Request> requests{{1, 2, 5}, {0, 1, 3}, {1, 2, 6}};
  const auto matrix = RequestMatrix::from_entries(2, 3, requests);
  EXPECT_EQ(matrix.at(1, 2), 11);
  EXPECT_EQ(matrix.at(1, 1), 0);
  EXPECT_EQ(matrix.cells(), 2);
  EXPECT_EQ(matrix.file_bytes(), (std::vector<std::int64_t>{0, 3, 11}));
}

TEST(Assignment, HugeSizesDoNotOverflow) {
  const auto tera = std::int64_t{1} << 50;
  const auto problem = dense(2, 2, {tera * 3, tera * 5 + 1, tera * 4, tera * 5});
  EXPECT_EQ(assign_matching(problem).owners, (Owners{{1}, {0}}));
  EXPECT_EQ(assign_greedy(problem).owners, (Owners{{1}, {0}}));
}

TEST(Assignment, PrunedMatchingIsNeverWorseThanGreedy) {
  const Problem problem{.requests = random_requests({300, 300, 40, false}, 5)};
  const auto greedy = evaluate(problem, assign_greedy(problem)).communication;
  const auto full = evaluate(problem, assign_matching(problem)).communication;
  const auto pruned =
      evaluate(problem, assign_matching(problem, {.max_links = 1500})).communication;
  EXPECT_LE(full, pruned);
  EXPECT_LE(pruned, greedy);
}

TEST(Assignment, TenThousandRanksAndFilesTakeLessThanTwoSeconds) {
  const Problem problem{.requests = random_requests({10'000, 10'000, 16, false}, 1)};
  const auto begin = std::clock();  // CPU time: other tests run beside this one
  const auto greedy = assign_greedy(problem);
  EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
  const auto matching = assign_matching(problem);
  EXPECT_LE(evaluate(problem, matching).communication, evaluate(problem, greedy).communication);
}

// Trying everything, for problems of a few pairs.

void try_all(const Problem& problem, const Quotas& quotas, std::size_t file, Assignment& current,
             const std::function<void(const Assignment&)>& visit) {
  if (file == current.owners.size()) return visit(current);
  const auto ranks = static_cast<unsigned>(problem.requests.ranks());
  for (unsigned set = 0; set < 1u << ranks; ++set) {
    if (std::popcount(set) != quotas.file_slots[file]) continue;
    current.owners[file].clear();
    for (unsigned rank = 0; rank < ranks; ++rank)
      if (set >> rank & 1) current.owners[file].push_back(static_cast<int>(rank));
    try_all(problem, quotas, file + 1, current, visit);
  }
}

bool keeps_balance(const Problem& problem, const Quotas& quotas, const Cost& cost) {
  if (problem.balance == Balance::bytes && !quotas.several_ranks_per_file)
    return cost.max_io_bytes <= byte_limit(problem);
  return std::ranges::all_of(cost.ranks, [&](const RankCost& rank) {
    return rank.files >= quotas.base && rank.files <= quotas.base + (quotas.extra > 0 ? 1 : 0);
  });
}

struct Least {
  double communication = std::numeric_limits<double>::infinity();
  double response = std::numeric_limits<double>::infinity();
};

Least least_of_all(const Problem& problem) {
  const auto quotas = make_quotas(problem.requests);
  Least least;
  Assignment current{Owners(problem.requests.files())};
  try_all(problem, quotas, 0, current, [&](const Assignment& assignment) {
    const auto cost = evaluate(problem, assignment);
    if (!keeps_balance(problem, quotas, cost)) return;
    least.communication = std::min(least.communication, cost.communication);
    least.response = std::min(least.response, cost.response);
  });
  return least;
}

// Numbers from the whole range at once; RapidCheck would begin with the smallest.
template <class T>
T drawn(T begin, T end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(begin, end));
}

Problem small_problem(int max_ranks, int max_files) {
  const int ranks = drawn(1, max_ranks + 1);
  const int files = drawn(1, max_files + 1);
  // Multiples of 12 are shared evenly by up to four owners.
  std::vector<std::int64_t> cells;
  for (int i = 0; i < ranks * files; ++i)
    cells.push_back(12 * std::max<std::int64_t>(0, drawn<std::int64_t>(-10, 30)));
  auto problem = dense(ranks, files, cells);
  problem.alpha = drawn(0, 4);
  problem.beta = drawn(0, 4);
  return problem;
}

RC_GTEST_PROP(AssignmentProperty, MatchingIsOptimal, ()) {
  const auto problem = small_problem(4, 4);
  const auto least = least_of_all(problem);
  RC_ASSERT(evaluate(problem, assign_matching(problem)).communication == least.communication);
}

RC_GTEST_PROP(AssignmentProperty, MatchingIsOptimalWithATopology, ()) {
  auto problem = small_problem(3, 5);
  RC_PRE(!make_quotas(problem.requests).several_ranks_per_file);
  problem.node_of_rank = {0, 1, 0};
  problem.node_of_rank.resize(problem.requests.ranks());
  problem.intra_node_cost = 0.5;
  const auto least = least_of_all(problem);
  const auto found = evaluate(problem, assign_matching(problem)).communication;
  RC_ASSERT(std::abs(found - least.communication) < 1e-3);
}

RC_GTEST_PROP(AssignmentProperty, EveryMethodKeepsTheBalance, ()) {
  auto problem = small_problem(6, 9);
  if (drawn(0, 2) == 1) problem.balance = Balance::bytes;
  const auto quotas = make_quotas(problem.requests);
  for (const auto& assignment : {assign_greedy(problem), assign_matching(problem)}) {
    RC_ASSERT(keeps_balance(problem, quotas, evaluate(problem, assignment)));
    for (std::size_t file = 0; file < assignment.owners.size(); ++file)
      RC_ASSERT(static_cast<int>(assignment.owners[file].size()) == quotas.file_slots[file]);
  }
}

RC_GTEST_PROP(AssignmentProperty, MatchingIsNeverWorseThanGreedy, ()) {
  auto problem = small_problem(6, 12);
  if (drawn(0, 2) == 1) problem.balance = Balance::bytes;
  problem.slack = 0.1 * drawn(0, 4);
  // Shares of files with several owners are rounded to bytes.
  RC_ASSERT(evaluate(problem, assign_matching(problem)).communication <=
            evaluate(problem, assign_greedy(problem)).communication + problem.requests.ranks());
}

RC_GTEST_PROP(AssignmentProperty, WorthAndCommunicationAddUpToAllRequests, ()) {
  const auto problem = small_problem(4, 8);
  const auto quotas = make_quotas(problem.requests);
  const auto greedy = assign_greedy(problem);
  std::int64_t worth = 0;
  for (const auto& link : make_links(problem, quotas))
    if (std::ranges::binary_search(greedy.owners[link.file], link.rank)) worth += link.weight;
  RC_ASSERT(static_cast<double>(problem.requests.total_bytes() - worth) ==
            evaluate(problem, greedy).communication);
}

RC_GTEST_PROP(AssignmentProperty, GreedyPermutesNothingByChance, ()) {
  const auto problem = small_problem(6, 9);
  RC_ASSERT(assign_greedy(problem) == assign_greedy(problem));
}

// CBC takes a few milliseconds a problem, so these are fixed seeds instead of properties.

void expect_exact_is_least(const Problem& problem, Objective objective) {
  if (!exact_available()) return;
  const auto exact = assign_exact(problem, {objective, 20});
  ASSERT_TRUE(exact.proven);
  const auto cost = evaluate(problem, exact.assignment);
  const auto least = least_of_all(problem);
  if (objective == Objective::communication) {
    EXPECT_NEAR(cost.communication, least.communication, 1e-6 * least.communication + 1);
  } else {
    EXPECT_NEAR(cost.response, least.response, 1e-5 * least.response + 8);
  }
  EXPECT_TRUE(keeps_balance(problem, make_quotas(problem.requests), cost));
}

TEST(AssignmentExact, IsTheLeastOfAll) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 3);
    const int files = 1 + static_cast<int>(seed % 5);
    Problem problem{.requests = random_requests({ranks, files, ranks, false}, seed)};
    expect_exact_is_least(problem, Objective::communication);
    expect_exact_is_least(problem, Objective::response);
    problem.balance = Balance::bytes;
    problem.slack = 0.1;
    expect_exact_is_least(problem, Objective::communication);
    expect_exact_is_least(problem, Objective::response);
  }
}

TEST(AssignmentExact, KnowsTheTopology) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Problem problem{.requests = random_requests({4, 4, 4, false}, seed)};
    problem.node_of_rank = {0, 0, 1, 1};
    problem.intra_node_cost = 0.25;
    expect_exact_is_least(problem, Objective::communication);
    expect_exact_is_least(problem, Objective::response);
  }
}

TEST(AssignmentExact, RefusesWhatItCannotDo) {
  if (!exact_available()) GTEST_SKIP() << "built without CBC";
  const Problem large{.requests = random_requests({1000, 1000, 1, false}, 1)};
  EXPECT_THROW(assign_exact(large), std::invalid_argument);
  auto shared = dense(4, 1, {4, 4, 4, 4});
  shared.node_of_rank = {0, 0, 1, 1};
  shared.intra_node_cost = 0.5;
  EXPECT_THROW(assign_exact(shared, {Objective::response, 1}), std::invalid_argument);
  EXPECT_THROW(assign_exact(appendix(), {Objective::response, 0}), std::invalid_argument);
}

TEST(AssignmentAuto, LooksAtTheResponseWhereCommunicationIsEqual) {
  // Figures 6 and 7 communicate the same; Figure 7 has the smaller largest load.
  const auto result = assign(Method::automatic, table_1());
  EXPECT_EQ(result.method, Method::matching);
  EXPECT_EQ(result.assignment.owners, figure_7);
}

TEST(AssignmentAuto, IsNoWorseThanAnyHeuristic) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Problem problem{.requests = random_requests({4, 9, 3, false}, seed)};
    const ExactOptions options{Objective::response, 5};
    const auto best = evaluate(problem, assign(Method::automatic, problem, options).assignment);
    EXPECT_LE(best.response, evaluate(problem, assign_greedy(problem)).response);
    EXPECT_LE(best.response, evaluate(problem, assign_matching(problem)).response);
  }
}

}  // namespace
}  // namespace choir::multi
