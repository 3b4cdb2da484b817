// report_test.cpp: loading traces, good and broken, and the advice drawn from them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "advice.hpp"
#include "trace/left.hpp"
#include "trace/writer.hpp"

namespace choir::report {
namespace {

using trace::CallRecord;

class ReportFolder : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "choir-report-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A run of `calls` calls on two ranks; `shape` makes each record what the test needs.
  template <class Shape>
  Trace run(int calls, const std::string& mode, Shape&& shape) {
    for (int rank = 0; rank < 2; ++rank) {
      trace::TraceWriter writer(folder_, rank, "1.0");
      trace::OpenRecord open;
      open.file = "/data/f";
      open.mode = mode;
      open.ranks = 2;
      open.nodes = 2;
      writer.open(open);
      for (int i = 0; i < calls; ++i) {
        CallRecord r;
        r.file = "/data/f";
        r.call = i;
        r.operation = "write_all";
        r.strategy = "two_phase";
        r.phase = "serving";
        r.signature = 7;
        r.start_s = 100 + i;
        r.bytes = 64 << 20;
        r.pieces = 1;
        r.ranks = 2;
        r.rank = rank;
        r.aggregator = true;
        r.seconds = {1.0, 0.1, 0.05, 0.3, 0.3, 0.1};
        r.storage_requests = 4;
        r.storage_bytes = r.bytes;
        r.offset_low = r.bytes * (2 * i + rank);
        r.offset_high = r.offset_low + r.bytes;
        r.plan_cached = i > 0;
        shape(r);
        writer.call(r);
      }
    }
    return load_trace(folder_);
  }

  /// One call of a single rank, in a file of the name all others have too.
  void run_again(int first, int open) {
    trace::TraceWriter writer(folder_, 2 * first + open, "1.0");
    CallRecord r;
    r.file = "/data/f";
    r.first = first;
    r.open = open;
    r.ranks = 1;
    writer.call(r);
  }

  static bool advised(const Trace& trace, const std::string& rule) {
    for (const auto& a : advise(trace, summarise(trace)))
      if (a.id == rule) return true;
    return false;
  }

  static bool fails_with(const std::string& path, const std::string& text) {
    try {
      load_trace(path);
    } catch (const LoadError& e) {
      return std::string(e.what()).find(text) != std::string::npos;
    }
    return false;
  }

  std::string folder_;
};

TEST_F(ReportFolder, RanksComeTogetherCallByCall) {
  const auto trace = run(5, "read-write", [](CallRecord&) {});
  ASSERT_EQ(trace.calls.size(), 5u);
  EXPECT_EQ(trace.calls[3].parts.size(), 2u);
  EXPECT_EQ(trace.calls[3].bytes(), 128 << 20);
  const auto s = summarise(trace);
  EXPECT_EQ(s.calls, 5);
  EXPECT_NEAR(s.seconds, 5.0, 1e-9);
  EXPECT_EQ(s.patterns.at(0).strategies.at("two_phase").calls, 5);
  EXPECT_NEAR(s.phases.exchange, 1.5, 1e-9);
}

TEST_F(ReportFolder, LooksAreComparedWithTheCallsAroundThem) {
  const auto trace = run(6, "read-write", [](CallRecord& r) {
    r.pattern = "write 128M by 64M adjacent dense even beyond";
    const bool look = r.call == 2 || r.call == 4;
    if (look) r.strategy = "native", r.phase = "looking";
    r.seconds = {look ? 3.1 : 1.1, 0.1, 0, 0, 0, 0};
  });
  const auto pattern = summarise(trace).patterns.at(0);
  EXPECT_EQ(pattern.words, "write 128M by 64M adjacent dense even beyond");
  EXPECT_EQ(pattern.evidence.serves, "two_phase");
  const auto* const native = pattern.evidence.rival("native");
  ASSERT_NE(native, nullptr);
  EXPECT_EQ(native->samples.size(), 2u);
  EXPECT_NEAR(std::exp(native->middle()), 3.0, 1e-6);
}

TEST_F(ReportFolder, CallsThatChoirDoesNotCompareAreNotComparedHere) {
  int wrong = 0;
  const auto none = [&](auto&& shape) {
    const auto trace = run(3, "read-write", [&](CallRecord& r) {
      if (r.call == 1) {
        r.strategy = "native", r.phase = "looking";
        shape(r);
      }
    });
    wrong += !summarise(trace).patterns.at(0).evidence.rivals.empty();
  };
  none([](CallRecord& r) { r.operation = "iwrite_all"; });
  none([](CallRecord& r) { r.operation = "write_all_begin"; });
  none([](CallRecord& r) { r.error_class = 20; });
  none([](CallRecord& r) { r.seconds = {0.1, 0.1, 0, 0, 0, 0}; });
  EXPECT_EQ(wrong, 0);
}

TEST_F(ReportFolder, CallsLeftToTheMpiLibraryAreSaid) {
  for (int rank = 0; rank < 2; ++rank) {
    trace::TraceWriter writer(folder_, rank, "1.0");
    for (int i = 0; i < 3; ++i)
      writer.left({"/data/f", 0, 0, "write_all", trace::text_of(trace::Left::atomic)});
  }
  const auto trace = load_trace(folder_);
  ASSERT_EQ(trace.left.size(), 1u);
  EXPECT_EQ(trace.left[0].calls, 3);
  const auto advice = advise(trace, summarise(trace));
  ASSERT_FALSE(advice.empty());
  EXPECT_EQ(advice[0].finding, "3 collective calls left to the MPI library: atomic mode is on.");
}

TEST_F(ReportFolder, HeatMapKeepsEveryByte) {
  const auto s = summarise(run(7, "read-write", [](CallRecord&) {}));
  double sum = 0;
  for (const auto& row : s.files.at(0).heat.bytes)
    for (const double bytes : row) sum += bytes;
  EXPECT_NEAR(sum, static_cast<double>(s.bytes), 1.0);
}

TEST_F(ReportFolder, HeatMapSpansAllOffsetsThereAre) {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto sum = summarise(run(1, "read-write", [](CallRecord& r) {
    r.offset_low = r.rank == 0 ? Limits::min() : Limits::max() - 1;
    r.offset_high = r.rank == 0 ? Limits::min() + 1 : Limits::max();
  }));
  const auto& bytes = sum.files.at(0).heat.bytes;
  EXPECT_GT(bytes.at(0).front(), 0);
  for (const auto& row : bytes)
    for (const double cell : row) EXPECT_TRUE(std::isfinite(cell));
}

TEST_F(ReportFolder, NeighbouringBytesFarIntoAFileAreApart) {
  constexpr auto far = std::int64_t{1} << 62;
  const auto sum = summarise(run(1, "read-write", [](CallRecord& r) {
    r.bytes = 1;
    r.offset_low = far + r.rank;
    r.offset_high = far + r.rank + 1;
  }));
  const auto& bytes = sum.files.at(0).heat.bytes;
  EXPECT_GT(bytes.at(0).front(), 0);
  EXPECT_GT(bytes.at(1).back(), 0);
}

TEST_F(ReportFolder, AnImpossibleRankIsSaidAndNotAllocated) {
  const auto trace = run(1, "read-write", [](CallRecord& r) {
    r.ranks = 1'000'000'000;
    if (r.rank == 1) r.rank = 999'999'999;
  });
  try {
    summarise(trace);
    FAIL() << "accepted";
  } catch (const LoadError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 999999999"), std::string::npos) << error.what();
  }
}

TEST_F(ReportFolder, BalancedRunHasNothingToComplainAbout) {
  const auto trace = run(5, "read-write", [](CallRecord&) {});
  const auto advice = advise(trace, summarise(trace));
  ASSERT_EQ(advice.size(), 1u) << advice[0].id;
  EXPECT_EQ(advice[0].id, "nothing-found");
}

TEST_F(ReportFolder, ExchangeBetweenNodesSuggestsPlacement) {
  const auto trace = run(5, "read-write", [](CallRecord& r) {
    r.seconds = {1.0, 0.01, 0.01, 0.92, 0.05, 0.01};
    r.bytes_between = r.bytes / 2;
  });
  const auto advice = advise(trace, summarise(trace));
  EXPECT_EQ(advice.front().id, "exchange-between-nodes");
  EXPECT_NE(advice.front().finding.find("92 %"), std::string::npos);
  EXPECT_NE(advice.front().action.find("choir place"), std::string::npos);
}

TEST_F(ReportFolder, WriteOnlyMattersOnlyWithGaps) {
  EXPECT_FALSE(advised(run(2, "write-only", [](CallRecord&) {}), "write-only"));
  EXPECT_TRUE(advised(run(2, "write-only", [](CallRecord& r) { r.pieces = 9; }), "write-only"));
  EXPECT_FALSE(advised(run(2, "read-write", [](CallRecord& r) { r.pieces = 9; }), "write-only"));
}

TEST_F(ReportFolder, EachRuleSeesItsCase) {
  const auto seen = [&](const char* rule, int calls, auto shape) {
    EXPECT_TRUE(advised(run(calls, "read-write", shape), rule)) << rule;
  };
  seen("failed-calls", 1, [](CallRecord& r) { r.error_class = 20; });
  seen("small-calls", 30, [](CallRecord& r) { r.bytes = 1000; });
  seen("waiting", 2, [](CallRecord& r) { r.seconds = {1, 0.1, 0, 0.1, 0.1, 0.7}; });
  seen("sieving", 2, [](CallRecord& r) { r.bytes_sieved = r.bytes; });
  seen("many-cycles", 2, [](CallRecord& r) { r.cycles = 100; });
  seen("native-chosen", 2, [](CallRecord& r) { r.strategy = "native"; });
  seen("examination", 2, [](CallRecord& r) { r.phase = "looking"; });
  seen("storage-bound", 2, [](CallRecord& r) { r.seconds = {1, 0.1, 0, 0.1, 0.8, 0}; });
  seen("small-requests", 2, [](CallRecord& r) {
    r.seconds = {1, 0.1, 0, 0.1, 0.8, 0};
    r.storage_requests = 1 << 20;
  });
  seen("changing-patterns", 30, [](CallRecord& r) {
    r.signature = static_cast<std::uint64_t>(r.call);
    r.plan_cached = false;
    r.seconds.plan = 0.3;
  });
  seen("uneven-aggregators", 2, [](CallRecord& r) {
    r.ranks = 2;
    r.seconds.storage = r.rank == 0 ? 0.9 : 0.0;
  });
  seen("exchange-inside-nodes", 2, [](CallRecord& r) {
    r.seconds = {1, 0.1, 0, 0.7, 0.1, 0};
    r.bytes_inside = r.bytes;
  });
  seen("incomplete-trace", 2, [](CallRecord& r) { r.ranks = 3; });
}

TEST_F(ReportFolder, AHalfLineOfAKilledJobIsTolerated) {
  run(3, "read-write", [](CallRecord&) {});
  std::ofstream(folder_ + "/rank-0.jsonl", std::ios::app) << "{\"type\":\"call\",\"fi";
  const auto trace = load_trace(folder_);
  EXPECT_EQ(trace.calls.size(), 3u);
  EXPECT_EQ(trace.skipped_lines, 1);
  EXPECT_TRUE(advised(trace, "incomplete-trace"));
}

TEST_F(ReportFolder, OneRankFileIsEnough) {
  run(3, "read-write", [](CallRecord&) {});
  EXPECT_EQ(load_trace(folder_ + "/rank-1.jsonl").calls.size(), 3u);
}

TEST_F(ReportFolder, BadInputSaysWhatIsWrong) {
  EXPECT_TRUE(fails_with(folder_ + "/nothing", "no such trace"));
  EXPECT_TRUE(fails_with(folder_, "no rank-*.jsonl"));
  std::ofstream(folder_ + "/rank-0.jsonl") << "hello\n[1,2]\n{\"type\":3}\n";
  EXPECT_TRUE(fails_with(folder_, "rank-0.jsonl:1"));
  std::ofstream(folder_ + "/rank-0.jsonl") << "{\"type\":\"header\",\"schema\":9}\n";
  EXPECT_TRUE(fails_with(folder_, "schema 9"));
  const std::string header = "{\"type\":\"header\",\"schema\":1}\n";
  std::ofstream(folder_ + "/rank-0.jsonl") << header;
  EXPECT_TRUE(fails_with(folder_, "1 of 1 processes did not end properly"));
  std::ofstream(folder_ + "/rank-0.jsonl")
      << header << "{\"type\":\"end\",\"written\":0,\"dropped\":7}\n";
  EXPECT_TRUE(fails_with(folder_, "7 records could not be written"));
  std::ofstream(folder_ + "/rank-0.jsonl")
      << header << "{\"type\":\"end\",\"written\":0,\"dropped\":0}\n";
  EXPECT_TRUE(fails_with(folder_, "made no collective call"));
}

/// A rank's file with each of its lines changed by `change`.
template <class Change>
void rewrite(const std::string& path, Change&& change) {
  std::ifstream in(path);
  std::string text;
  for (std::string line; std::getline(in, line);) text += change(line) + "\n";
  in.close();
  std::ofstream(path) << text;
}

std::string replaced(std::string line, const std::string& from, const std::string& to) {
  const auto at = line.find(from);
  return at == std::string::npos ? line : line.replace(at, from.size(), to);
}

TEST_F(ReportFolder, ALineWithoutAFieldLeavesNoHalfCall) {
  run(2, "read-write", [](CallRecord&) {});
  rewrite(folder_ + "/rank-0.jsonl", [](const std::string& line) {
    return replaced(line, "\"strategy\":\"two_phase\",", "");
  });
  const auto trace = load_trace(folder_);
  EXPECT_EQ(trace.skipped_lines, 2);
  ASSERT_EQ(trace.calls.size(), 2u);
  for (const auto& call : trace.calls) {
    EXPECT_EQ(call.strategy, "two_phase");
    EXPECT_EQ(call.parts.size(), 1u) << "the other rank's";
  }
}

TEST_F(ReportFolder, NumbersThatCannotBeTrueAreDamagedLines) {
  for (const char* number : {"-4", "1e300", "0.5", "18446744073709551615", "\"4\"", "[4]"}) {
    run(1, "read-write", [](CallRecord&) {});
    rewrite(folder_ + "/rank-0.jsonl", [&](const std::string& line) {
      return replaced(line, "\"bytes\":67108864", std::string("\"bytes\":") + number);
    });
    const auto trace = load_trace(folder_);
    EXPECT_EQ(trace.skipped_lines, 1) << number;
    EXPECT_EQ(trace.calls.at(0).parts.size(), 1u) << number;
  }
}

TEST_F(ReportFolder, ManyFilesOfManyRanksAreSaidAndNotAllocated) {
  trace::TraceWriter writer(folder_, 0, "1.0");
  for (int i = 0; i < 4; ++i) {
    CallRecord r;
    r.file = "/data/f";
    r.open = i;
    r.operation = "write_all";
    r.rank = 3'000'000;
    writer.call(r);
  }
  writer.finish();
  const auto trace = load_trace(folder_);
  EXPECT_THROW(summarise(trace), LoadError);
}

TEST_F(ReportFolder, AProcessThatDidNotEndIsToldOf) {
  const auto whole = run(3, "read-write", [](CallRecord&) {});
  EXPECT_FALSE(advised(whole, "incomplete-trace"));
  std::ifstream in(folder_ + "/rank-1.jsonl");
  std::string kept;
  for (std::string line; std::getline(in, line);)
    if (line.find("\"end\"") == std::string::npos) kept += line + "\n";
  std::ofstream(folder_ + "/rank-1.jsonl") << kept;
  const auto trace = load_trace(folder_);
  EXPECT_EQ(trace.unended_files, 1);
  EXPECT_TRUE(advised(trace, "incomplete-trace"));
}

TEST_F(ReportFolder, FilesOfSeveralCommunicatorsAndOpeningsAreApart) {
  for (const int first : {0, 1})
    for (const int open : {0, 1}) run_again(first, open);
  const auto trace = load_trace(folder_);
  EXPECT_EQ(trace.files.size(), 4u);
  EXPECT_EQ(trace.calls.size(), 4u);
}

}  // namespace
}  // namespace choir::report
