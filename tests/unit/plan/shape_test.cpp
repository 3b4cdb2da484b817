// Shapes against counting byte by byte: they cover what is asked, and windows follow from them.
#include "plan/shape.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "plan/plan.hpp"

namespace choir {
namespace {

/// An ascending tile of one to five runs, evenly spaced or not.
TilePtr any_tile() {
  const int runs = *rc::gen::inRange(1, 6);
  const bool even = *rc::gen::arbitrary<bool>();
  const auto length = *rc::gen::inRange<std::int64_t>(1, 12);
  const auto gap = *rc::gen::inRange<std::int64_t>(0, 40);
  const auto count = *rc::gen::inRange<std::int64_t>(1, 4);
  Runs list;
  std::int64_t at = *rc::gen::inRange<std::int64_t>(0, 9);
  for (int i = 0; i < runs; ++i) {
    Run run{at, length, 0, count};
    if (!even) run.length = *rc::gen::inRange<std::int64_t>(1, 12);
    if (count > 1) run.stride = run.length + *rc::gen::inRange<std::int64_t>(0, 5);
    list.push_back(run);
    at = even ? list[0].offset + (i + 1) * (count * 20 + gap)
              : run.end() + *rc::gen::inRange<std::int64_t>(1, 60);
  }
  const auto end = list.back().end() - list.front().offset;
  return std::make_shared<Tile>(list, end + *rc::gen::inRange<std::int64_t>(0, 90));
}

Access any_access() {
  Access access{{any_tile(), *rc::gen::inRange<std::int64_t>(0, 50)}, 0, 0};
  const auto bytes = access.file.tile->bytes();
  access.begin = *rc::gen::inRange<std::int64_t>(0, 2 * bytes);
  access.end = access.begin + *rc::gen::inRange<std::int64_t>(1, 6 * bytes);
  return access;
}

Run any_domain() {
  Run domain{*rc::gen::inRange<std::int64_t>(0, 60), *rc::gen::inRange<std::int64_t>(1, 50), 0,
             *rc::gen::inRange<std::int64_t>(1, 20)};
  if (domain.count > 1) domain.stride = domain.length + *rc::gen::inRange<std::int64_t>(0, 120);
  return domain;
}

/// All offsets a shape covers, found stretch by stretch.
std::set<std::int64_t> covered(const Shape& shape, Extent span) {
  std::set<std::int64_t> bytes;
  for (auto from = span.begin;;) {
    const auto stretch = next_stretch(shape, span, from);
    if (stretch.empty()) return bytes;
    for (auto b = stretch.begin; b < stretch.end; ++b) bytes.insert(b);
    from = stretch.end;
  }
}

RC_GTEST_PROP(Shape, CoversEveryByteThatIsAsked, ()) {
  const auto access = any_access();
  const auto bytes = covered(shape_of(access), access.span());
  for (auto position = access.begin; position < access.end; ++position)
    RC_ASSERT(bytes.count(access.file.offset_of(position)) == 1);
  RC_ASSERT(*bytes.begin() == access.span().begin);
  RC_ASSERT(*bytes.rbegin() == access.span().end - 1);
}

RC_GTEST_PROP(Shape, NextWindowIsTheNextOneWithACoveredByte, ()) {
  const auto access = any_access();
  const auto domain = any_domain();
  const auto cycle = *rc::gen::inRange<std::int64_t>(1, 130);
  const auto span = access.span();
  const RankSummary rank{span.begin, span.end, access.bytes(), shape_of(access)};
  const auto bytes = covered(rank.shape, span);
  std::set<std::int64_t> expected, found;
  for (std::int64_t w = 0; w < window_count(domain, cycle); ++w) {
    const auto window = window_of(domain, cycle, w);
    for (std::int64_t i = 0; i < window.count; ++i)
      for (std::int64_t b = 0; b < window.length; ++b)
        if (bytes.count(window.block(i) + b) == 1) expected.insert(w);
  }
  for (auto w = next_window(domain, cycle, rank, 0); w >= 0;
       w = next_window(domain, cycle, rank, w + 1))
    RC_ASSERT(found.insert(w).second);
  RC_ASSERT(found == expected);
}

RC_GTEST_PROP(Shape, ResiduesAreFoundAsByTryingAll, ()) {
  const auto period = *rc::gen::inRange<std::int64_t>(1, 300);
  const auto step = *rc::gen::inRange<std::int64_t>(0, period);
  const auto start = *rc::gen::inRange<std::int64_t>(0, period);
  const auto most = *rc::gen::inRange<std::int64_t>(0, period);
  std::int64_t expected = -1;
  for (std::int64_t i = 0; i < period && expected < 0; ++i)
    if ((step * i + start) % period <= most) expected = i;
  RC_ASSERT(first_in_residues(step, start, period, most) == expected);
}

TEST(Shape, AVectorIsExact) {
  const Access access{{std::make_shared<Tile>(Runs{{100, 10, 0, 1}}, 1000), 0}, 5, 35};
  const auto shape = shape_of(access);
  EXPECT_EQ(shape.kind, Shape::Kind::periodic);
  EXPECT_EQ(covered(shape, access.span()).size(), 30U);
}

TEST(Shape, ADiagonalThatWrapsKeepsItsStride) {
  // Segment k of rank 5 of 8 is column (5 + k) mod 8 of row k, 10 bytes each.
  Runs runs;
  for (std::int64_t k = 0; k < 8; ++k) append(runs, {(k * 8 + (5 + k) % 8) * 10, 10, 0, 1});
  const Access access{{std::make_shared<Tile>(runs, 640), 0}, 0, 80};
  const auto shape = shape_of(access);
  ASSERT_EQ(shape.kind, Shape::Kind::periodic);
  EXPECT_EQ(shape.stride(), 90);
  EXPECT_EQ(shape.length(), 20);
}

TEST(Shape, BlocksThatAlwaysMissAServersStripesAreNoticedAtOnce) {
  // Every block lies in the stripes of server 1; a walk to the end would take 2^40 steps.
  const std::int64_t far = std::int64_t{1} << 60;
  const RankSummary rank{65536, far, 1 << 20, Shape::periodic(1 << 20, 4096, 0)};
  const choir::Run server0{0, 65536, 4 * 65536, far / (4 * 65536)};
  const choir::Run server1{65536, 65536, 4 * 65536, far / (4 * 65536)};
  EXPECT_EQ(next_window(server0, 1 << 20, rank, 0), -1);
  EXPECT_EQ(next_window(server1, 1 << 20, rank, 3), 3);
}

TEST(Shape, AFewIrregularPiecesLeaveMostCellsEmpty) {
  const Runs pieces{{0, 10, 0, 1}, {5000, 70, 0, 1}, {93000, 1, 0, 1}, {97000, 2, 0, 1}};
  const Access access{{std::make_shared<Tile>(pieces, 100000), 0}, 0, 83};
  const auto shape = shape_of(access);
  ASSERT_EQ(shape.kind, Shape::Kind::cells);
  EXPECT_LE(covered(shape, access.span()).size(), 5U * (97002 / Shape::most_cells + 1));
}

}  // namespace
}  // namespace choir
