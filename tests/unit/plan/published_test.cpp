// published_test.cpp: the estimates against times taken on a machine with 16 cores: one node, ext4,
// new files, no rank without a core of its own.
#include <gtest/gtest.h>

#include "plan/strategy.hpp"

namespace choir {
namespace {

/// Ranks whose pieces lie between each other in one stretch of the file.
struct Pattern {
  int ranks;
  std::int64_t bytes, piece_bytes;

  std::int64_t pieces() const { return bytes / piece_bytes; }
};
constexpr Pattern vector_512{16, 512 << 20, 512};
constexpr Pattern tile_8{8, 16 << 20, 4096};  // demo/tile.c, one step
constexpr Pattern tile_16{16, 32 << 20, 4096};

double estimate_ms(const std::string& name, const Pattern& pattern, Situation s,
                   const MachineCosts& machine = usual_machine) {
  constexpr int cores = 16;
  const Topology topology(std::vector<int>(static_cast<std::size_t>(pattern.ranks), 0), cores);
  std::vector<RankSummary> ranks;
  const auto stride = pattern.piece_bytes * pattern.ranks;
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    const auto low = rank * pattern.piece_bytes;
    const auto count = pattern.pieces() / pattern.ranks;
    ranks.push_back({low, low + (count - 1) * stride + pattern.piece_bytes,
                     count * pattern.piece_bytes, Shape::periodic(stride, pattern.piece_bytes, 0)});
  }
  s.pieces = pattern.pieces();
  s.machine = &machine;
  const StrategyTable table;
  return table.rows()[static_cast<std::size_t>(*table.find(name))].estimate_s(
             {topology, ranks, {}, 4}, s) *
         1e3;
}

MachineCosts with(const HostCosts& host) {
  auto machine = usual_machine;
  machine.host = host;
  return machine;
}
const MachineCosts mpich = with(romio_costs), openmpi = with(ompio_costs);

const Situation new_file{0, true, true, true, true};
const Situation rewritten{0, true, true, true, false};
const Situation read_back{0, false, true, true, false};

/// Between the least and the most that was measured, or not more than half as much beyond.
testing::AssertionResult agrees(double estimated, double least, double most) {
  constexpr double tolerance = 1.5;
  if (estimated >= least / tolerance && estimated <= most * tolerance)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << estimated << " ms estimated, " << least << " to " << most << " ms measured";
}

TEST(Published, NewFilesTakeAboutWhatWasMeasured) {
  EXPECT_TRUE(agrees(estimate_ms("native", vector_512, new_file, mpich), 276, 410));
  EXPECT_TRUE(agrees(estimate_ms("native", vector_512, new_file, openmpi), 850, 1032));
  EXPECT_TRUE(agrees(estimate_ms("two_phase", vector_512, new_file), 143, 149));
  EXPECT_TRUE(agrees(estimate_ms("individual", tile_8, new_file), 14.8, 14.8));
  EXPECT_TRUE(agrees(estimate_ms("mapped", tile_8, new_file), 20, 20));
  EXPECT_TRUE(agrees(estimate_ms("native", tile_8, new_file, mpich), 7.5, 7.5));
  EXPECT_TRUE(agrees(estimate_ms("native", tile_8, new_file, openmpi), 14, 14));
  EXPECT_TRUE(agrees(estimate_ms("two_phase", tile_8, new_file), 4, 5));
  EXPECT_TRUE(agrees(estimate_ms("native", tile_16, new_file, mpich), 17.5, 17.5));
  EXPECT_TRUE(agrees(estimate_ms("native", tile_16, new_file, openmpi), 36.5, 36.5));
  EXPECT_TRUE(agrees(estimate_ms("two_phase", tile_16, new_file), 9, 9));
}

TEST(Published, OnNewFilesTheHostTakesSeveralTimesAsLongAsTwoPhase) {
  const double ours = estimate_ms("two_phase", vector_512, new_file);
  EXPECT_GT(estimate_ms("native", vector_512, new_file, mpich), 2 * ours);
  EXPECT_GT(estimate_ms("native", vector_512, new_file, openmpi), 5 * ours);
}

/// A write of a file waits for the one before it, whether its blocks are new or not.
TEST(Published, WritesOfOneFileAreNotSharedOut) {
  constexpr Pattern few{2, 32 << 20, 4096}, many{16, 32 << 20, 4096};
  for (const auto& ground : {new_file, rewritten})
    EXPECT_DOUBLE_EQ(estimate_ms("individual", few, ground),
                     estimate_ms("individual", many, ground));
  EXPECT_GT(estimate_ms("individual", few, read_back),
            7 * estimate_ms("individual", many, read_back));
}

/// The file system is asked for blocks, and for each page that is stored to.
TEST(Published, MappingANewFileIsHardlySharedOut) {
  constexpr Pattern few{2, 32 << 20, 4096}, many{16, 32 << 20, 4096};
  EXPECT_LT(estimate_ms("mapped", few, new_file), 1.3 * estimate_ms("mapped", many, new_file));
}

/// What serves on the machine with 16 cores: 2 to 28 times the libraries written, 13 to 120 read.
TEST(Published, RewrittenAndReadBackTheHostIsFarBehind) {
  auto there = rewritten;
  there.prepared = true;
  auto seen = read_back;
  seen.prepared = true;
  for (const auto& host : {mpich, openmpi}) {
    EXPECT_GT(estimate_ms("native", vector_512, rewritten, host),
              2 * estimate_ms("mapped", vector_512, there));
    EXPECT_GT(estimate_ms("native", vector_512, read_back, host),
              13 * estimate_ms("mapped", vector_512, seen));
  }
}

TEST(Published, AHostWithMoreAggregatorsIsNotAssumedUnlessThereAreMoreNodes) {
  EXPECT_GT(estimate_ms("native", vector_512, read_back),
            8 * estimate_ms("two_phase", vector_512, read_back));
}

}  // namespace
}  // namespace choir
