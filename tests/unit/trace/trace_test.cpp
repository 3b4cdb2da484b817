// trace_test.cpp: lines are valid JSON whatever the names, and a bad disk costs records only.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "trace/record.hpp"
#include "trace/stats.hpp"
#include "trace/writer.hpp"

namespace choir::trace {
namespace {

using Json = nlohmann::json;

class TraceFolder : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "choir-trace-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::vector<Json> lines(const std::string& name) const {
    std::vector<Json> parsed;
    std::ifstream in(folder_ + "/" + name);
    for (std::string line; std::getline(in, line);) parsed.push_back(Json::parse(line));
    return parsed;
  }

  std::string folder_;
};

CallRecord sample(std::int64_t call = 0) {
  CallRecord r;
  r.file = "/data/a \"quoted\"\\\n\x01 name";
  r.call = call;
  r.operation = "write_all";
  r.strategy = "two_phase";
  r.phase = "serving";
  r.reason = "fastest of 3";
  r.signature = 0xfedcba9876543210ULL;
  r.start_s = 1763200000.123456789;
  r.bytes = std::int64_t{1} << 40;
  r.pieces = 3;
  r.ranks = 4;
  r.rank = 1;
  r.aggregator = true;
  r.seconds = {1.5, 0.1, 0.2, 0.3, 0.8, 0.1};
  r.bytes_inside = 5;
  r.bytes_between = 6;
  r.cycles = 7;
  r.offset_low = 10;
  r.offset_high = 20;
  return r;
}

TEST_F(TraceFolder, EveryFieldArrives) {
  {
    TraceWriter writer(folder_ + "/deep/er", 3, "1.0");
    OpenRecord open;
    open.file = "f";
    open.mode = "write-only";
    open.hints = {{"cb_nodes", "2"}, {"a\"b", "\t"}};
    writer.open(open);
    writer.call(sample(9));
    EXPECT_EQ(writer.error(), "");
  }
  const auto all = lines("deep/er/rank-3.jsonl");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0]["type"], "header");
  EXPECT_EQ(all[0]["schema"], schema_version);
  EXPECT_EQ(all[1]["hints"]["a\"b"], "\t");
  EXPECT_EQ(all[2]["file"], std::string(sample().file));
  EXPECT_EQ(all[2]["call"], 9);
  EXPECT_EQ(all[2]["signature"], "fedcba9876543210");
  EXPECT_EQ(all[2]["bytes"], std::int64_t{1} << 40);
  EXPECT_NEAR(all[2]["start"].get<double>(), 1763200000.123456789, 1e-6);
  EXPECT_EQ(all[2]["seconds"]["storage"], 0.8);
  EXPECT_EQ(all[2]["aggregator"], true);
  EXPECT_EQ(all[3]["written"], 2);
  EXPECT_EQ(all[3]["dropped"], 0);
}

TEST_F(TraceFolder, TheFileStopsAtItsLimitWithWholeLines) {
  TraceWriter writer(folder_, 0, "1.0", {1024, 10000});
  for (int i = 0; i < 100; ++i) writer.call(sample(i));
  EXPECT_GT(writer.dropped(), 0);
  writer.finish();
  writer.call(sample());
  const auto all = lines("rank-0.jsonl");
  EXPECT_EQ(all.back()["type"], "end");
  EXPECT_EQ(all.back()["written"].get<int>() + all.back()["dropped"].get<int>(), 100);
  EXPECT_EQ(static_cast<int>(all.size()), all.back()["written"].get<int>() + 2);
}

/// Files end here: to a writer the same as a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(TraceFolder, AFullDiskDropsAndCounts) {
  const FileSizeLimit limit(0);
  TraceWriter writer(folder_, 0, "1.0", {1024, 1 << 20});
  for (int i = 0; i < 50; ++i) writer.call(sample(i));
  writer.finish();
  EXPECT_EQ(writer.dropped(), 50);
  EXPECT_NE(writer.error().find("File too large"), std::string::npos) << writer.error();
}

TEST_F(TraceFolder, ALinkInTheWayIsAReasonAndItsTargetStays) {
  const auto precious = folder_ + "/precious";
  std::ofstream(precious) << "keep";
  std::filesystem::create_symlink(precious, folder_ + "/rank-0.jsonl");
  TraceWriter writer(folder_, 0, "1.0");
  writer.call(sample());
  writer.finish();
  EXPECT_EQ(writer.dropped(), 1);
  EXPECT_NE(writer.error().find("it is a link"), std::string::npos) << writer.error();
  EXPECT_EQ(std::filesystem::file_size(precious), 4u);
}

TEST_F(TraceFolder, AFolderThatCannotBeIsAReason) {
  std::ofstream(folder_ + "/file") << "x";
  TraceWriter writer(folder_ + "/file/below", 0, "1.0");
  writer.call(sample());
  EXPECT_EQ(writer.dropped(), 1);
  EXPECT_NE(writer.error().find("cannot create the folder"), std::string::npos);
}

TEST(Record, NotANumberIsNull) {
  auto r = sample();
  r.seconds.total = std::numeric_limits<double>::infinity();
  std::string line;
  append_call(line, r);
  EXPECT_TRUE(Json::parse(line)["seconds"]["total"].is_null());
}

TEST(Record, InvalidUtf8BecomesTheReplacementCharacter) {
  std::string out;
  append_json_string(out, "ok \xc3\xa9 \xff\xc3 \xed\xa0\x80 \xc0\x80");
  const auto text = Json::parse(out).get<std::string>();
  EXPECT_EQ(text.substr(0, 5), "ok \xc3\xa9");
  EXPECT_NE(text.find("\xef\xbf\xbd"), std::string::npos);
}

RC_GTEST_PROP(Record, AnyBytesGiveValidJson, ()) {
  const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  std::string out;
  append_json_string(out, bytes);
  RC_ASSERT(Json::parse(out).is_string());
}

TEST(Stats, RanksCombineBySumAndMaximum) {
  Totals a, b;
  auto r = sample();
  r.bytes = 100;
  a.add(r);
  r.bytes = 300;
  r.seconds.total = 4;
  b.add(r);
  auto sums = a.sums();
  auto maxima = a.maxima();
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += b.sums()[i];
  for (std::size_t i = 0; i < maxima.size(); ++i) maxima[i] = std::max(maxima[i], b.maxima()[i]);
  a.set_sums(sums);
  a.set_maxima(maxima);
  const auto& s = a.signatures().begin()->second;
  EXPECT_EQ(s.bytes, 400);
  EXPECT_EQ(s.seconds.total, 4);
  EXPECT_EQ(s.seconds.storage, 0.8);
  EXPECT_EQ(s.cycles, 7);
  a.set_sums(std::vector<double>{1});  // of another shape: ignored
  EXPECT_EQ(a.signatures().begin()->second.bytes, 400);
}

TEST(Stats, TableTellsWhoServedAndWhatOthersReached) {
  select::Evidence known;
  known.serves = "two_phase";
  known.costs = {1 / (100.0 * (1 << 20))};
  known.calls = 30;
  known.time_s = 1;
  known.lost_s = 0.05;
  known.rival_named("native").add({std::log(1.5)});
  Totals totals;
  for (int i = 0; i < 30; ++i) {
    auto r = sample(i);
    r.strategy = "two_phase";
    r.phase = "serving";
    r.reason = "the fastest as far as measured";
    r.pattern = "write 1M by 4K apart gaps even beyond";
    r.bytes = 1 << 20;
    totals.add(r);
  }
  const auto table = stats_table({"/data/x", 4, 2, {{"cb_nodes", "2"}}}, totals,
                                 {{totals.signatures().begin()->first, known}});
  for (const auto* expected :
       {"/data/x (4 ranks on 2 nodes)", "write 1M by 4K apart gaps even beyond (write_all",
        "30 calls, 30.0 MiB in 90 pieces", "two_phase (serving: the fastest as far as measured)",
        "two_phase serves, at 100 MiB/s; 30 calls of this class so far",
        "native takes 1.50 times as long (67 MiB/s); 1 comparison, not sure yet: 2 more wanted",
        "looks at others have cost 5.0 % of the time (limit 10 %)", "storage 53%", "holes sieved",
        "hints: cb_nodes=2"})
    EXPECT_NE(table.find(expected), std::string::npos) << expected << "\nin\n" << table;
}

TEST(Stats, CallsLeftToTheMpiLibraryAreCounted) {
  Totals totals;
  EXPECT_TRUE(totals.empty());
  totals.add_left(Left::atomic);
  totals.add_left(Left::atomic);
  totals.add_left(Left::backwards);
  const auto text = stats_table({"/data/f", 2, 0, {}}, totals, {});
  EXPECT_EQ(text,
            "choir: /data/f (2 ranks)\n"
            "  2 collective calls left to the MPI library: atomic mode is on\n"
            "  1 collective call left to the MPI library: the call goes backwards in the file\n"
            "  hints: none\n");
}

TEST(Stats, UnitsReadWell) {
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_seconds(0.0123), "12.3 ms");
}

}  // namespace
}  // namespace choir::trace
