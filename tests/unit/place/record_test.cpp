// record_test.cpp: neighbours in the file from runs, recordings, their text and their merging.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "place/neighbours.hpp"
#include "place/recorder.hpp"

namespace choir::place {
namespace {

/// A number in [from, to), of full size from the first case on.
template <class Number>
Number pick(Number from, Number to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Number>(from, to));
}

/// One byte per entry, in file order.
GatheredRuns one_byte_pieces(const std::vector<int>& order, int ranks) {
  std::vector<std::vector<AccessRun>> of(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < order.size(); ++i)
    of[static_cast<std::size_t>(order[i])].push_back({static_cast<std::int64_t>(i), 1, 1, 1});
  GatheredRuns runs;
  for (const auto& rank : of) runs.append_rank(rank);
  return runs;
}

using Counts = std::map<std::pair<int, int>, std::pair<std::int64_t, std::int64_t>>;

/// The definition itself: flatten, sort, look at neighbours.
Counts by_definition(const GatheredRuns& runs) {
  std::vector<std::tuple<std::int64_t, int, std::int64_t>> pieces;
  for (int rank = 0; rank < runs.ranks(); ++rank)
    for (const auto& run : runs.of(rank))
      for (std::int64_t i = 0; i < run.count; ++i)
        pieces.emplace_back(run.offset + i * run.stride, rank, run.length);
  std::sort(pieces.begin(), pieces.end());
  Counts counts;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const auto [at, a, length_a] = pieces[i - 1];
    const auto [next, b, length_b] = pieces[i];
    if (a == b) continue;
    auto& [contacts, bytes] = counts[{std::min(a, b), std::max(a, b)}];
    ++contacts;
    bytes += std::min(length_a, length_b);
  }
  return counts;
}

Counts counted(const GatheredRuns& runs) {
  PairSums sums;
  EXPECT_TRUE(count_neighbours(runs, sums));
  Counts counts;
  for (const auto& pair : sums.sorted()) counts[{pair.a, pair.b}] = {pair.contacts, pair.bytes};
  return counts;
}

TEST(Neighbours, TheThesisExampleGivesItsMatrix) {
  const auto runs =
      one_byte_pieces({0, 4, 1, 0, 4, 1, 5, 2, 3, 4, 1, 3, 2, 5, 4, 2, 5, 4, 0, 4, 1}, 6);
  Recorder recorder(6);
  recorder.add_call(runs);
  const auto matrix = compress(recorder.recording().contacts(), 6);
  const int expected[6][6] = {{0, 1, 0, 0, 4, 0}, {1, 0, 0, 1, 4, 1}, {0, 0, 0, 2, 1, 3},
                              {0, 1, 2, 0, 1, 0}, {4, 4, 1, 1, 0, 2}, {0, 1, 3, 0, 2, 0}};
  for (int row = 0; row < 6; ++row)
    for (int col = 0; col < 6; ++col) {
      EXPECT_EQ(matrix.contacts_at(row, col), expected[row][col]) << row << ' ' << col;
      EXPECT_EQ(matrix.bytes_at(row, col), expected[row][col]) << row << ' ' << col;
    }
}

TEST(Neighbours, ABillionInterleavedPiecesCostTwoRuns) {
  GatheredRuns runs;
  const std::int64_t pieces = 1'000'000'000;
  runs.append_rank(std::vector<AccessRun>{{0, 8, 16, pieces}});
  runs.append_rank(std::vector<AccessRun>{{8, 8, 16, pieces}});
  EXPECT_EQ(counted(runs), (Counts{{{0, 1}, {2 * pieces - 1, 8 * (2 * pieces - 1)}}}));
}

TEST(Neighbours, StridesWithoutACommonPeriodAreEstimated) {
  GatheredRuns runs;
  runs.append_rank(std::vector<AccessRun>{{0, 3, 1'000'003, 3'000'000}});
  runs.append_rank(std::vector<AccessRun>{{500'000, 3, 1'000'033, 3'000'000}});
  PairSums sums;
  EXPECT_FALSE(count_neighbours(runs, sums));
  ASSERT_EQ(sums.sorted().size(), 1U);
  EXPECT_NEAR(static_cast<double>(sums.sorted().front().contacts), 6e6, 0.1e6);
}

RC_GTEST_PROP(Neighbours, RunsOfOneStrideGiveWhatTheDefinitionGives, ()) {
  const auto stride = pick<std::int64_t>(4, 40);
  const auto ranks = pick<int>(1, 7);
  GatheredRuns runs;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<AccessRun> of;
    const auto many = pick<int>(0, 4);
    for (int i = 0; i < many; ++i) {
      // Offsets of different ranks differ, so that there is one order only.
      const auto offset = pick<std::int64_t>(0, 60) * 64 + rank * 5 + i;
      of.push_back({offset, pick<std::int64_t>(1, 3), stride * 64, pick<std::int64_t>(1, 9)});
    }
    std::sort(of.begin(), of.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    runs.append_rank(of);
  }
  RC_ASSERT(counted(runs) == by_definition(runs));
}

RC_GTEST_PROP(Neighbours, MixedStridesGiveWhatTheDefinitionGives, ()) {
  const auto ranks = pick<int>(1, 6);
  GatheredRuns runs;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<AccessRun> of;
    const auto many = pick<int>(0, 3);
    for (int i = 0; i < many; ++i)
      of.push_back({pick<std::int64_t>(0, 30) * 64 + rank * 5 + i, pick<std::int64_t>(1, 4),
                    pick<std::int64_t>(1, 9) * 64, pick<std::int64_t>(1, 12)});
    runs.append_rank(of);
  }
  RC_ASSERT(counted(runs) == by_definition(runs));
}

TEST(Neighbours, TilesOfARowAreNeighbours) {
  GatheredRuns runs;  // 2 x 2 tiles of 4 x 4 bytes in an 8 x 8 array
  for (int rank = 0; rank < 4; ++rank)
    runs.append_rank(std::vector<AccessRun>{{rank / 2 * 32 + rank % 2 * 4, 4, 8, 4}});
  EXPECT_EQ(counted(runs), (Counts{{{0, 1}, {7, 28}}, {{1, 2}, {1, 4}}, {{2, 3}, {7, 28}}}));
}

TEST(Runs, OddOnesAreNormalised) {
  EXPECT_EQ(normalised({100, 4, -10, 3}), (AccessRun{80, 4, 10, 3}));
  EXPECT_EQ(normalised({8, 4, 4, 5}), (AccessRun{8, 20, 20, 1}));
  EXPECT_EQ(normalised({8, 4, 0, 5}), (AccessRun{8, 4, 4, 1}));
}

GatheredRuns interleaved(int ranks, std::int64_t base, std::int64_t count) {
  GatheredRuns runs;
  for (int rank = 0; rank < ranks; ++rank)
    runs.append_rank(std::vector<AccessRun>{{base + rank * 8, 8, ranks * 8, count}});
  return runs;
}

TEST(Recorder, ALoopThatMovesOnIsOnePattern) {
  Recorder recorder(4);
  for (int step = 0; step < 10; ++step) recorder.add_call(interleaved(4, step * 3200, 100));
  const auto recording = recorder.recording();
  ASSERT_EQ(recording.patterns.size(), 1U);
  EXPECT_EQ(recording.patterns[0].times, 10);
  EXPECT_EQ(recording.bytes, 10 * 3200);
  EXPECT_EQ(compress(recording.contacts(), 4).contacts_at(0, 1), 10 * 100);
}

TEST(Recorder, SeveralLayoutsAddUpWithTheirBytes) {
  Recorder recorder(4);
  recorder.add_call(interleaved(4, 0, 100));
  GatheredRuns pairs;  // 0 with 2
  pairs.append_rank(std::vector<AccessRun>{{0, 1000, 2000, 7}});
  pairs.append_rank({});
  pairs.append_rank(std::vector<AccessRun>{{1000, 1000, 2000, 7}});
  pairs.append_rank({});
  recorder.add_call(pairs);
  const auto matrix = compress(recorder.recording().contacts(), 4);
  EXPECT_EQ(matrix.bytes_at(0, 1), 800);
  EXPECT_EQ(matrix.bytes_at(2, 0), 13'000);
}

TEST(Recorder, ViewsCountOnlyWithoutCalls) {
  Recorder recorder(2);
  recorder.add_view(interleaved(2, 0, 5));
  EXPECT_EQ(compress(recorder.recording().contacts(), 2).contacts_at(0, 1), 9);
  recorder.add_call(interleaved(2, 0, 2));
  EXPECT_EQ(compress(recorder.recording().contacts(), 2).contacts_at(0, 1), 3);
}

TEST(Recorder, PatternsAreBoundedButTheMatrixIsNot) {
  Recorder recorder(2);
  for (int i = 1; i <= 100; ++i) recorder.add_call(interleaved(2, 0, i));
  const auto recording = recorder.recording();
  EXPECT_EQ(recording.patterns.size(), Recording::most_patterns);
  EXPECT_EQ(compress(recording.contacts(), 2).contacts_at(0, 1), 100 * 100);
}

TEST(Recorder, ManyRunsBecomeAHistogramThatKeepsTheBytes) {
  GatheredRuns runs;
  std::vector<AccessRun> scattered;
  for (int i = 0; i < 1000; ++i) scattered.push_back({i * 1000LL + i % 7, 100, 100, 1});
  runs.append_rank(scattered);
  const auto pattern = pattern_of(runs);
  EXPECT_TRUE(pattern.coarse);
  EXPECT_EQ(pattern.bytes, 100'000);
  std::int64_t half = 0;
  for (const auto& run : pattern.runs.of(0)) half += bytes_between(run, 0, pattern.span / 2);
  EXPECT_NEAR(static_cast<double>(half), 50'000, 500);
}

TEST(Recorder, RefusesWhatDoesNotFit) {
  Recorder recorder(3);
  EXPECT_THROW(recorder.add_call(interleaved(2, 0, 1)), std::invalid_argument);
  EXPECT_THROW(Recorder(0), std::invalid_argument);
}

std::string text_of(const Recording& recording) {
  std::ostringstream out;
  write(out, recording);
  return out.str();
}

TEST(RecordingText, ReadsWhatItWrote) {
  Recorder recorder(5);
  recorder.add_view(interleaved(5, 0, 3));
  recorder.add_call(interleaved(5, 640, 30));
  recorder.add_call(interleaved(5, 0, 31));
  const auto text = text_of(recorder.recording());
  std::istringstream in(text);
  EXPECT_EQ(text_of(read(in, "test")), text);
}

TEST(RecordingText, BadTextNamesItsLine) {
  Recorder recorder(2);
  recorder.add_call(interleaved(2, 0, 3));
  const auto good = text_of(recorder.recording());
  const auto message = [](const std::string& text) {
    std::istringstream in(text);
    try {
      read(in, "f");
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("hello"), "f:1: not a recording: the first line should be 'choir-recording 1'");
  EXPECT_EQ(message(good.substr(0, good.size() - 4)), "f:13: the file ends where 'end' should be");
  auto outside = good;
  outside.replace(outside.find("row 0 1 1"), 9, "row 0 1 7");
  EXPECT_EQ(message(outside), "f:7: number 7 is out of range 1 to 1");
}

TEST(RecordingFile, NothingIsWrittenThroughALink) {
  auto folder = (std::filesystem::temp_directory_path() / "choir-record-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/precious") << "keep";
  std::filesystem::create_symlink(folder + "/precious", folder + "/rec.part");
  const Recorder recorder(2);
  EXPECT_THROW(write_file(folder + "/rec", recorder.recording()), std::runtime_error);
  EXPECT_EQ(std::filesystem::file_size(folder + "/precious"), 4u);
  EXPECT_FALSE(std::filesystem::exists(folder + "/rec"));
  std::filesystem::remove_all(folder);
}

TEST(Merge, AddsUpAndRefusesOtherSizes) {
  Recorder first(4), second(4), third(3);
  first.add_call(interleaved(4, 0, 10));
  second.add_call(interleaved(4, 320, 10));
  second.add_call(interleaved(4, 0, 20));
  third.add_call(interleaved(3, 0, 1));
  auto merged = first.recording();
  merge(merged, second.recording());
  EXPECT_EQ(merged.calls, 3);
  EXPECT_EQ(merged.patterns.size(), 2U);
  EXPECT_EQ(merged.patterns[0].times, 2);
  EXPECT_EQ(compress(merged.contacts(), 4).contacts_at(0, 1), 40);
  EXPECT_THROW(merge(merged, third.recording()), std::runtime_error);
}

}  // namespace
}  // namespace choir::place
