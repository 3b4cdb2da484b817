#include "stage/core/merge.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>
#include <string>

#include "access/copy.hpp"

namespace choir::stage {
namespace {

std::vector<Window> all_windows(std::vector<Share> shares) {
  Merger merger(std::move(shares));
  std::vector<Window> windows;
  for (auto window = merger.next(); !window.sources.empty(); window = merger.next())
    windows.push_back(window);
  return windows;
}

TEST(Merge, NeighboursBecomeOneRequest) {
  const std::string a(100, 'a'), b(100, 'b');
  const Runs first{{0, 100, 0, 1}}, second{{100, 100, 0, 1}};
  const auto windows = all_windows({{second, b.data()}, {first, a.data()}});
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].span, (Extent{0, 200}));
  EXPECT_EQ(windows[0].sources[0].data, a.data());
}

TEST(Merge, InterleavedBlocksStayRuns) {
  constexpr std::int64_t blocks = 1 << 20;
  const std::string bytes(blocks, 'x');
  const Runs even{{0, 1, 2, blocks}}, odd{{1, 1, 2, blocks}};
  const auto windows = all_windows({{even, bytes.data()}, {odd, bytes.data()}});
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].sources.size(), 2U);
  EXPECT_EQ(windows[0].bytes(), 2 * blocks);
}

TEST(Merge, RequestsEndWhereMultiplesOfTheirSizeDo) {
  const Runs whole{{request_bytes - 10, 30, 0, 1}};
  const std::string bytes(30, 'x');
  const auto windows = all_windows({{whole, bytes.data()}});
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].span, (Extent{request_bytes - 10, request_bytes}));
  EXPECT_EQ(windows[1].span, (Extent{request_bytes, request_bytes + 20}));
  EXPECT_TRUE(windows[1].is_block());
  EXPECT_EQ(windows[1].sources[0].data, bytes.data() + 10);
}

TEST(Merge, EmptyStretchesCostNothing) {
  const Runs far{{0, 1, 0, 1}, {100 * request_bytes, 1, 0, 1}};
  const std::string bytes(2, 'x');
  EXPECT_EQ(all_windows({{far, bytes.data()}}).size(), 2U);
}

TEST(Merge, EveryByteArrivesOnceAtItsPlace) {
  const bool holds = rc::check("random runs around a request's edge", [] {
    // One ascending list of runs; a byte says where it belongs.
    Runs runs;
    std::int64_t at = request_bytes - *rc::gen::inRange(0, 400);
    for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
      choir::Run run{at, *rc::gen::inRange(1, 20), 0, *rc::gen::inRange(1, 10)};
      if (run.count > 1) run.stride = run.length + *rc::gen::inRange(0, 20);
      runs.push_back(run);
      at = run.end() + *rc::gen::inRange(0, 50);
    }
    std::string bytes;
    for (const auto& run : runs)
      for (std::int64_t i = 0; i < run.bytes(); ++i)
        bytes += static_cast<char>((run.block(i / run.length) + i % run.length) % 251);
    std::int64_t moved = 0;
    for (const auto& window : all_windows({{runs, bytes.data()}}))
      for (const auto& source : window.sources) {
        RC_ASSERT(source.run.offset >= window.span.begin && source.run.end() <= window.span.end);
        for (std::int64_t i = 0; i < source.run.bytes(); ++i) {
          const auto place = source.run.block(i / source.run.length) + i % source.run.length;
          RC_ASSERT(source.data[i] == static_cast<char>(place % 251));
        }
        moved += source.run.bytes();
      }
    RC_ASSERT(moved == static_cast<std::int64_t>(bytes.size()));
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace choir::stage
