// run_test.cpp: runs, layouts, coverage and the wire form, against what they mean byte by byte.
#include "access/run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <thread>

#include "access/codec.hpp"
#include "access/coverage.hpp"
#include "naive.hpp"

namespace choir {
namespace {

using naive::any_run;
using naive::ascending_tile;
using naive::expand;
using naive::pick;
using naive::Places;

// ---- runs

TEST(Run, BlocksThatTouchBecomeOneBlock) {
  Runs runs;
  append(runs, {0, 8, 0, 1});
  append(runs, {8, 4, 0, 1});
  append(runs, {12, 4, 4, 5});
  EXPECT_EQ(runs, (Runs{{0, 32, 0, 1}}));
}

TEST(Run, EqualBlocksAtEqualDistancesBecomeOneRun) {
  Runs runs;
  for (int i = 0; i < 1000; ++i) append(runs, {i * 24, 8, 0, 1});
  append(runs, {24000, 8, 24, 500});
  EXPECT_EQ(runs, (Runs{{0, 8, 24, 1500}}));
}

TEST(Run, NothingAppendsNothing) {
  Runs runs;
  append(runs, {5, 0, 8, 3});
  append(runs, {5, 8, 8, 0});
  append_repeated(runs, {{0, 8, 0, 1}}, 0, 0, 16);
  append_repeated(runs, {}, 0, 10, 16);
  EXPECT_TRUE(runs.empty());
}

TEST(Run, TenMillionBlocksAreOneRunAndAreNeverWalked) {
  Runs vector;
  append_repeated(vector, {{0, 8, 0, 1}}, 64, 10'000'000, 16);
  ASSERT_EQ(vector, (Runs{{64, 8, 16, 10'000'000}}));
  Runs repeated;
  append_repeated(repeated, vector, 0, 1000, 160'000'000);
  EXPECT_EQ(repeated.size(), 1U);

  const Layout layout{std::make_shared<Tile>(vector, 160'000'000), 0};
  int visits = 0;
  visit_runs(layout, 3, 79'999'997, [&](const choir::Run&) { ++visits; });
  EXPECT_EQ(visits, 3);
  EXPECT_EQ(layout.offset_of(40'000'000), 64 + 80'000'000);
  EXPECT_EQ(layout.position_of(64 + 80'000'000), 40'000'000);
}

/// A run that may begin where `last` would have its next block, so that joining is tempting.
Run tempting_run(const Runs& runs) {
  auto run = any_run();
  if (runs.empty() || pick(0, 3) == 0) return run;
  const auto& last = runs.back();
  run.length = last.length;
  run.offset = last.count > 1 ? last.block(last.count) : last.offset + run.stride;
  if (pick(0, 2) == 0) run.stride = last.stride;
  return run;
}

RC_GTEST_PROP(RunProperty, AppendedRunsKeepEveryByteInOrder, ()) {
  Runs runs;
  Places expected;
  for (auto n = pick(0, 12); n > 0; --n) {
    const auto run = tempting_run(runs);
    append(runs, run);
    expand(run, expected);
  }
  RC_ASSERT(expand(runs) == expected);
}

RC_GTEST_PROP(RunProperty, RepetitionIsThePatternAgainAndAgain, ()) {
  Runs pattern;
  for (auto n = pick(1, 4); n > 0; --n) append(pattern, any_run());
  const auto at = pick(-30, 31), times = pick(0, 7), stride = pick(-60, 61);
  Runs runs;
  if (*rc::gen::arbitrary<bool>()) append(runs, any_run());
  auto expected = expand(runs);
  append_repeated(runs, pattern, at, times, stride);
  for (std::int64_t i = 0; i < times; ++i)
    for (const auto place : expand(pattern)) expected.push_back(place + at + i * stride);
  RC_ASSERT(expand(runs) == expected);
}

RC_GTEST_PROP(RunProperty, APartIsAtMostThreeRuns, ()) {
  const auto run = any_run();
  const auto begin = pick(0, run.bytes() + 1), end = pick(begin, run.bytes() + 1);
  Places found;
  int visits = 0;
  visit_part(run, begin, end, [&](const Run& part) {
    expand(part, found);
    ++visits;
  });
  const auto all = expand(Runs{run});
  RC_ASSERT(found == Places(all.begin() + begin, all.begin() + end));
  RC_ASSERT(visits <= 3);
}

TEST(Run, ExtentsIntersect) {
  EXPECT_EQ(intersect({0, 4}, {4, 8}).size(), 0);
  EXPECT_TRUE(intersect({0, 4}, {6, 8}).empty());
  EXPECT_EQ(intersect({0, 10}, {3, 5}), (Extent{3, 5}));
}

// ---- layouts

RC_GTEST_PROP(LayoutProperty, AnyTileIsVisitedInStreamOrder, ()) {
  const Layout layout{*rc::gen::arbitrary<bool>() ? naive::any_tile() : ascending_tile(),
                      pick(-100, 101)};
  const auto begin = pick(0, 300), end = pick(begin, begin + 300);
  RC_ASSERT(naive::visited(layout, begin, end) == expand(layout, begin, end));
}

RC_GTEST_PROP(LayoutProperty, PlacesArePositionsAndBack, ()) {
  const Layout layout{ascending_tile(), pick(0, 200)};
  RC_ASSERT(layout.tile->ascending());
  const auto places = expand(layout, 0, 400);
  for (std::size_t p = 0; p < places.size(); ++p)
    RC_ASSERT(layout.offset_of(static_cast<std::int64_t>(p)) == places[p]);
  // Holes, edges and what lies before the first byte too.
  for (auto offset = places.front() - 5; offset < places.back(); ++offset) {
    const auto below = std::lower_bound(places.begin(), places.end(), offset) - places.begin();
    RC_ASSERT(layout.position_of(offset) == below);
  }
}

TEST(Layout, TilesThatFoldBackAreNotAscending) {
  EXPECT_TRUE(Tile({{0, 8, 0, 1}}, 8).ascending());
  EXPECT_FALSE(Tile({{0, 8, 0, 1}}, 4).ascending()) << "the next tile overlaps";
  EXPECT_FALSE(Tile({{8, 4, 0, 1}, {0, 4, 0, 1}}, 16).ascending());
  EXPECT_FALSE(Tile({{0, 8, 4, 3}}, 64).ascending()) << "blocks overlap";
  EXPECT_FALSE(Tile({{16, 4, -8, 3}}, 64).ascending());
}

TEST(Layout, AnOverlappingTileIsAscendingOnce) {
  const Tile comb({{0, 8, 32, 4}}, 8);
  EXPECT_FALSE(comb.ascending());
  EXPECT_TRUE(comb.ascending_once());
  const Layout apart{comb.moved_apart(), 100};
  EXPECT_TRUE(apart.tile->ascending());
  EXPECT_EQ(apart.offset_of(31), 100 + 3 * 32 + 7);
  EXPECT_EQ(apart.position_of(100 + 3 * 32), 24);
  EXPECT_EQ(apart.position_of(100 + 3 * 32 + 8), 32);
  EXPECT_FALSE(Tile({{16, 4, -8, 3}}, 64).ascending_once());
}

TEST(Layout, TileFactsDescribeTheTile) {
  const Tile tile({{-8, 8, 16, 3}, {64, 16, 0, 1}}, 128);
  EXPECT_EQ(tile.bytes(), 40);
  EXPECT_EQ(tile.span(), (Extent{-8, 80}));
  EXPECT_EQ(tile.pieces(), 4);
  EXPECT_EQ(tile.grain(), 8);
  EXPECT_EQ(tile.start(1), 24);
  EXPECT_EQ(tile.run_at(23), 0U);
  EXPECT_EQ(tile.run_at(24), 1U);
  EXPECT_EQ(tile.hash(), Tile({{-8, 8, 16, 3}, {64, 16, 0, 1}}, 128).hash());
  EXPECT_NE(tile.hash(), Tile({{-8, 8, 16, 3}, {64, 16, 0, 1}}, 136).hash());
}

/// A random access: the tile's numbers are multiples of `unit`, its place and its ends of `fine`.
Access any_access(std::int64_t unit = 1, std::int64_t fine = 1) {
  Access access{{ascending_tile(unit), fine * pick(0, 50)}, 0, 0};
  access.begin = fine * pick(0, 100);
  access.end = access.begin + fine * pick(0, 100);
  return access;
}

RC_GTEST_PROP(AccessProperty, ClippingKeepsExactlyTheBytesInTheRange, ()) {
  const auto access = any_access();
  const auto places = expand(access.file, access.begin, access.end);
  const auto first = pick(-50, 900), last = pick(first, first + 300);
  const auto part = access.clip({first, last});
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto position = access.begin + static_cast<std::int64_t>(i);
    const bool inside = places[i] >= first && places[i] < last;
    RC_ASSERT(inside == (position >= part.begin && position < part.end));
  }
}

RC_GTEST_PROP(AccessProperty, SpanIsFirstToLastByte, ()) {
  const auto access = any_access();
  const auto places = expand(access.file, access.begin, access.end);
  if (places.empty())
    RC_ASSERT(access.span().empty());
  else
    RC_ASSERT(access.span() == (Extent{places.front(), places.back() + 1}));
}

RC_GTEST_PROP(AccessProperty, GrainDividesEveryEdgeAndIsNoFinerThanItsUnit, ()) {
  const auto shift = pick(0, 15);
  const auto unit = std::int64_t{1} << pick(0, shift + 1);
  const auto access = any_access(std::int64_t{1} << shift, unit);
  const auto grain = access.grain();
  RC_ASSERT(grain >= std::min<std::int64_t>(unit, 4096) && grain <= 4096);
  RC_ASSERT((grain & (grain - 1)) == 0);
  visit_runs(access.file, access.begin, access.end, [&](const Run& run) {
    RC_ASSERT(run.offset % grain == 0);
    RC_ASSERT(run.length % grain == 0);
    if (run.count > 1) RC_ASSERT(run.stride % grain == 0);
  });
}

RC_GTEST_PROP(AccessProperty, ShiftedCallsHaveTheSameRelativeHash, ()) {
  auto access = any_access();
  const auto hash = access.relative_hash();
  auto later = access;
  later.file.origin += pick(1, 1'000'000);
  RC_ASSERT(later.relative_hash() == hash);
  const auto tiles = pick(1, 9) * access.file.tile->bytes();
  later.begin += tiles, later.end += tiles;
  RC_ASSERT(later.relative_hash() == hash);
}

TEST(Access, ContiguousBytesAreOnePieceWithTheGrainOfTheirEnds) {
  const Access access{{contiguous_tile(), 4096}, 8192, 8192 + 12288};
  EXPECT_EQ(access.pieces(), 1);
  EXPECT_EQ(access.grain(), 4096);
  EXPECT_EQ(access.span(), (Extent{12288, 24576}));
}

// ---- coverage

/// The stretches of true values.
std::vector<Extent> stretches(const std::vector<bool>& marked) {
  std::vector<Extent> found;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(marked.size()); ++i) {
    if (!marked[static_cast<std::size_t>(i)]) continue;
    if (!found.empty() && found.back().end == i)
      ++found.back().end;
    else
      found.push_back({i, i + 1});
  }
  return found;
}

RC_GTEST_PROP(CoverageProperty, MarkedStretchesAreFoundAgain, ()) {
  const auto grain = std::int64_t{1} << pick(0, 7);
  const auto grains = pick(1, 400);
  std::vector<std::uint64_t> words(
      static_cast<std::size_t>(Coverage::words_for(grains * grain, grain)), 0x5555);
  Coverage coverage(words.data(), grains * grain, grain);
  coverage.clear();
  std::vector<bool> expected(static_cast<std::size_t>(grains * grain));
  for (auto n = pick(0, 8); n > 0; --n) {
    const auto begin = pick(0, grains), length = pick(1, grains - begin + 1);
    const auto stride = length + pick(0, 5);
    const auto count = pick(1, (grains - begin - length) / stride + 2);
    const Run run{begin * grain, length * grain, stride * grain, count};
    coverage.mark(run);
    for (const auto place : expand(Runs{run})) expected[static_cast<std::size_t>(place)] = true;
  }
  const auto wanted = stretches(expected);
  RC_ASSERT(coverage.extents() == wanted);
  RC_ASSERT(coverage.next(0) ==
            (wanted.empty() ? Extent{grains * grain, grains * grain} : wanted[0]));
}

TEST(Coverage, MarksOfTwoThreadsAreNotLost) {
  constexpr std::int64_t bytes = 64 * 1024;
  std::vector<std::uint64_t> words(static_cast<std::size_t>(Coverage::words_for(bytes, 1)));
  Coverage coverage(words.data(), bytes, 1);
  coverage.clear();
  // Neighbouring bits of the same words.
  std::thread other([&] { coverage.mark({1, 1, 2, bytes / 2}); });
  coverage.mark({0, 1, 2, bytes / 2});
  other.join();
  EXPECT_EQ(coverage.extents(), (std::vector<Extent>{{0, bytes}}));
}

// ---- wire form

Runs any_wire_runs() {
  Runs runs;
  for (auto n = pick(0, 8); n > 0; --n) {
    Run run{pick(-(1LL << 40), 1LL << 40), pick(1, 1LL << 30), 0, pick(1, 1000)};
    if (run.count > 1) run.stride = pick(-(1LL << 30), 1LL << 30);
    runs.push_back(run);
  }
  return runs;
}

RC_GTEST_PROP(CodecProperty, RunsComeBackAsTheyWereAndPartsOfThemAreRefused, ()) {
  const auto runs = any_wire_runs();
  Bytes bytes;
  encode(runs, bytes);
  const auto size = bytes.size();
  for (std::size_t cut = 0; cut < size; ++cut) RC_ASSERT(!decode(bytes.data(), cut).has_value());
  bytes.push_back(0xff);  // what follows belongs to somebody else
  const auto back = decode(bytes.data(), size);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == runs);
  RC_ASSERT(decode(bytes.data(), bytes.size()) == back);
}

RC_GTEST_PROP(CodecProperty, GarbageGivesRunsOrNothing, ()) {
  // Numbers of at most three bytes: nothing here can leave 64 bits.
  Bytes bytes;
  for (auto n = pick(0, 40); n > 0; --n) {
    for (auto more = pick(0, 3); more > 0; --more)
      bytes.push_back(static_cast<unsigned char>(0x80 | pick(0, 128)));
    bytes.push_back(static_cast<unsigned char>(pick(0, 128)));
  }
  const auto runs = decode(bytes.data(), bytes.size());
  if (!runs) return;
  for (const auto& run : *runs) RC_ASSERT(run.length > 0 && run.count > 0);
}

TEST(Codec, RefusesWhatNoEncoderWrites) {
  const auto refused = [](const Bytes& bytes) {
    return !decode(bytes.data(), bytes.size()).has_value();
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({1})) << "a run is announced and missing";
  EXPECT_TRUE(refused({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}))
      << "2^63 runs are announced";
  EXPECT_TRUE(refused(Bytes(40, 0xff))) << "a number without an end";
  EXPECT_TRUE(refused({1, 0, 0})) << "an empty block";
  EXPECT_TRUE(refused({1, 0, 3, 2, 0})) << "no blocks";
}

TEST(Codec, ANumberComesBackWithItsSize) {
  for (const std::uint64_t value : {0ULL, 127ULL, 128ULL, 16383ULL, 16384ULL, ~0ULL}) {
    Bytes bytes;
    encode_number(value, bytes);
    const auto size = bytes.size();
    bytes.push_back(0x55);
    const auto found = decode_number(bytes.data(), bytes.size());
    EXPECT_EQ(found.value, value);
    EXPECT_EQ(found.size, size);
    EXPECT_EQ(decode_number(bytes.data(), size - 1).size, 0U) << "cut short";
  }
}

TEST(Codec, ARegularPatternTakesAFewBytes) {
  Bytes bytes;
  encode({{1 << 20, 8, 64, 10'000'000}}, bytes);
  EXPECT_LE(bytes.size(), 16U);
}

}  // namespace
}  // namespace choir
