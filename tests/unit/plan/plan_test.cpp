// plan_test.cpp: windows of a domain, cuts of the work, groups and nodes.
#include "plan/plan.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "plan/partition.hpp"

namespace choir {
namespace {

std::int64_t pick(std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high); }

std::vector<int> everyone(const std::vector<RankSummary>& ranks) {
  std::vector<int> members(ranks.size());
  std::iota(members.begin(), members.end(), 0);
  return members;
}

// ---- windows

Run any_domain() {
  Run domain{pick(0, 500), pick(1, 60), 0, pick(1, 9)};
  if (domain.count > 1) domain.stride = domain.length + pick(0, 40);
  return domain;
}

RC_GTEST_PROP(WindowProperty, WindowsCutTheDomainInOrder, ()) {
  const auto domain = any_domain();
  const auto cycle_bytes = pick(1, 200);
  std::vector<std::int64_t> found, expected;
  const auto list = [](const Run& run, std::vector<std::int64_t>& out) {
    for (std::int64_t i = 0; i < run.count; ++i)
      for (std::int64_t b = 0; b < run.length; ++b) out.push_back(run.block(i) + b);
  };
  for (std::int64_t i = 0; i < window_count(domain, cycle_bytes); ++i) {
    const auto window = window_of(domain, cycle_bytes, i);
    RC_ASSERT(window.bytes() > 0 && window.bytes() <= cycle_bytes);
    list(window, found);
  }
  list(domain, expected);
  RC_ASSERT(found == expected);
}

RC_GTEST_PROP(WindowProperty, TheWindowsOfARangeAreThoseWhoseSpanMeetsIt, ()) {
  const auto domain = any_domain();
  const auto cycle_bytes = pick(1, 200);
  const Extent range{pick(0, 1500), pick(0, 1500)};
  const auto meeting = windows_meeting(domain, cycle_bytes, range);
  for (std::int64_t i = 0; i < window_count(domain, cycle_bytes); ++i) {
    const auto window = window_of(domain, cycle_bytes, i);
    const bool meets = !range.empty() && window.offset < range.end && window.end() > range.begin;
    RC_ASSERT(meets == (i >= meeting.begin && i < meeting.end));
  }
}

TEST(Window, AnEmptyDomainHasNone) {
  EXPECT_EQ(window_count({0, 0, 0, 1}, 64), 0);
  EXPECT_EQ(window_count({0, 8, 0, 0}, 64), 0);
  EXPECT_TRUE(windows_meeting({0, 0, 0, 1}, 64, {0, 100}).empty());
}

TEST(Window, APetabyteDomainIsSearchedNotWalked) {
  const choir::Run domain{0, std::int64_t{1} << 50, 0, 1};
  const auto meeting =
      windows_meeting(domain, 4096, {(std::int64_t{1} << 49) + 1, (std::int64_t{1} << 49) + 2});
  EXPECT_EQ(meeting, (Extent{std::int64_t{1} << 37, (std::int64_t{1} << 37) + 1}));
}

// ---- cuts

RankSummary any_summary() {
  if (pick(0, 5) == 0) return {};
  const auto low = pick(0, std::int64_t{1} << 40), width = pick(1, std::int64_t{1} << 30);
  return {low, low + width, pick(1, width + 1)};
}

RC_GTEST_PROP(CutProperty, CutsAscendFromFirstToLastByteOnAlignedPlaces, ()) {
  std::vector<RankSummary> ranks;
  for (auto n = pick(1, 20); n > 0; --n) ranks.push_back(any_summary());
  const auto members = everyone(ranks);
  const auto parts = static_cast<int>(pick(1, 12));
  const auto align = std::int64_t{1} << pick(0, 21);
  const auto span = span_of(ranks, members);
  const auto cuts = cut_by_bytes(ranks, members, parts, align);
  RC_ASSERT(cuts.size() == static_cast<std::size_t>(parts) + 1);
  RC_ASSERT(cuts.front() == span.begin && cuts.back() == span.end);
  RC_ASSERT(std::is_sorted(cuts.begin(), cuts.end()));
  for (const auto cut : cuts) RC_ASSERT(cut == span.begin || cut == span.end || cut % align == 0);
}

RC_GTEST_PROP(CutProperty, UniformDataIsCutEvenly, ()) {
  const auto each = pick(1, std::int64_t{1} << 30), first = pick(0, std::int64_t{1} << 40);
  const auto count = pick(1, 30);
  const bool interleaved = *rc::gen::arbitrary<bool>();
  std::vector<RankSummary> ranks;
  for (std::int64_t r = 0; r < count; ++r)
    ranks.push_back(interleaved ? RankSummary{first, first + each * count, each}
                                : RankSummary{first + r * each, first + (r + 1) * each, each});
  const auto parts = pick(1, 12);
  const auto align = std::int64_t{1} << pick(0, 13);
  const auto cuts = cut_by_bytes(ranks, everyone(ranks), static_cast<int>(parts), align);
  for (std::int64_t i = 1; i < parts; ++i) {
    const auto even = first + each * count * i / parts;
    // A cut moves by half the alignment at most (or to an end); the sum of densities is rounded.
    const auto cut = cuts[static_cast<std::size_t>(i)];
    RC_ASSERT(std::abs(cut - even) <= align / 2 + 64);
  }
}

TEST(Cut, DenseRangesAreShorterThanSparseOnes) {
  // The first MiB is asked for by everyone, the next three by one rank in four bytes.
  const std::int64_t mib = 1 << 20;
  const std::vector<RankSummary> ranks{{0, mib, mib}, {mib, 4 * mib, mib}};
  const auto cuts = cut_by_bytes(ranks, everyone(ranks), 2, 4096);
  EXPECT_NEAR(static_cast<double>(cuts[1]), static_cast<double>(mib), 4096);
}

TEST(Cut, ColumnsOfAMatrixGiveEveryAggregatorOneStripe) {
  // Eight blocks of columns: each ends a little before the last row does, so that their common
  // density puts every cut a little below a stripe.
  const std::int64_t mib = 1 << 20, piece = 2048;
  std::vector<RankSummary> ranks;
  for (std::int64_t r = 0; r < 8; ++r) ranks.push_back({r * piece, 8 * mib - (7 - r) * piece, mib});
  const auto cuts = cut_by_bytes(ranks, everyone(ranks), 8, mib);
  for (std::size_t i = 0; i <= 8; ++i) EXPECT_EQ(cuts[i], static_cast<std::int64_t>(i) * mib);
}

TEST(Cut, NothingAskedIsCutIntoNothing) {
  const std::vector<RankSummary> ranks(3);
  EXPECT_EQ(span_of(ranks, everyone(ranks)), Extent{});
  for (const auto cut : cut_by_bytes(ranks, everyone(ranks), 4, 4096)) EXPECT_EQ(cut, 0);
}

// ---- groups and nodes

RC_GTEST_PROP(GroupProperty, GroupsHoldEveryBusyRankOnceInFileOrder, ()) {
  std::vector<RankSummary> ranks;
  for (auto n = pick(1, 25); n > 0; --n) ranks.push_back(any_summary());
  const auto size = static_cast<std::size_t>(pick(1, 8));
  std::vector<int> order;
  const auto groups = groups_by_layout(ranks, static_cast<int>(size));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    RC_ASSERT(groups[g].size() == size ||
              (g + 1 == groups.size() && !groups[g].empty() && groups[g].size() < size));
    order.insert(order.end(), groups[g].begin(), groups[g].end());
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& one = ranks[static_cast<std::size_t>(order[i])];
    RC_ASSERT(!one.empty());
    if (i > 0) RC_ASSERT(ranks[static_cast<std::size_t>(order[i - 1])].low <= one.low);
  }
  const auto busy =
      std::count_if(ranks.begin(), ranks.end(), [](const RankSummary& r) { return !r.empty(); });
  RC_ASSERT(std::set<int>(order.begin(), order.end()).size() == static_cast<std::size_t>(busy));
}

TEST(Nodes, AreOrderedByWhereTheirDataLie) {
  const Topology topology({0, 0, 1, 1, 2}, 2);
  const std::vector<RankSummary> ranks{{900, 1000, 100}, {800, 900, 100}, {}, {0, 100, 100}, {}};
  EXPECT_EQ(nodes_by_data({topology, ranks, {}, 1}), (std::vector<int>{1, 0, 2}));
}

TEST(Topology, EqualKeysShareANodeWhateverTheirOrder) {
  const std::vector<std::uint64_t> keys{7, 9, 7, 7, 9, 5};
  EXPECT_EQ(nodes_of(keys), (std::vector<int>{0, 1, 0, 0, 1, 2}));
  EXPECT_EQ(nodes_of(keys, 2), (std::vector<int>{0, 1, 0, 2, 1, 3}));
  EXPECT_EQ(nodes_of(keys, 1), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(nodes_of({}).empty());
}

TEST(Topology, NodesAreNumberedByTheirFirstRank) {
  const Topology topology({70, -3, 70, 12, -3}, 0);
  EXPECT_EQ(topology.nodes(), 3);
  EXPECT_EQ(topology.ranks_of(1), (std::vector<int>{1, 4}));
  EXPECT_EQ(topology.node_of(3), 2);
  EXPECT_EQ(topology.cores_per_node(), 1) << "a node without cores is not possible";
}

}  // namespace
}  // namespace choir
