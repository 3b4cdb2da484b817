// What `choir compare` runs, and what it says.
#include <gtest/gtest.h>

#include <fstream>

#include "command.hpp"
#include "report.hpp"

namespace choir::compare {
namespace {

bool app_or_node(const std::string& word) {
  return word == "./app" || word == "node" || word == "app";
}

std::string with_choir(const std::string& text) {
  Words words;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return typed(with_inserted(words, {"CHOIR"}, app_or_node));
}

TEST(Command, ChoirStandsBeforeTheProgram) {
  EXPECT_EQ(with_choir("mpiexec -n 4 ./app ./app 7"), "mpiexec -n 4 CHOIR ./app ./app 7");
  EXPECT_EQ(with_choir("mpiexec.mpich -n 4 app"), "mpiexec.mpich -n 4 CHOIR app");
  EXPECT_EQ(with_choir("/opt/mpi/bin/mpirun --oversubscribe ./app"),
            "/opt/mpi/bin/mpirun --oversubscribe CHOIR ./app");
}

TEST(Command, AnOptionsValueIsNoProgram) {
  EXPECT_EQ(with_choir("mpirun --map-by node -n 2 ./app"), "mpirun --map-by node -n 2 CHOIR ./app");
}

TEST(Command, EachProgramOfAJobGetsIt) {
  EXPECT_EQ(with_choir("mpiexec -n 1 ./app : -n 2 ./app x"),
            "mpiexec -n 1 CHOIR ./app : -n 2 CHOIR ./app x");
}

TEST(Command, WhereTheUserSaysSo) {
  EXPECT_EQ(with_choir("start 4 bin/choir run other"), "start 4 CHOIR other");
}

TEST(Command, WithoutALauncher) { EXPECT_EQ(with_choir("./app x"), "CHOIR ./app x"); }

TEST(Command, NoProgramIsAMistake) {
  EXPECT_THROW(with_choir("mpiexec -n 4 ./missing"), std::invalid_argument);
}

TEST(Command, EachRunHasItsFolder) {
  EXPECT_EQ(typed(with_folder({"./app", "{}/out", "a{}b{}"}, "/tmp/1")),
            "./app /tmp/1/out a/tmp/1b/tmp/1");
}

std::string file_with(const std::string& name, const std::string& text) {
  const auto path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(Files, TheFirstByteThatDiffers) {
  const auto a = file_with("a", "hello"), b = file_with("b", "help"), c = file_with("c", "hel");
  EXPECT_EQ(first_difference(a, a), -1);
  EXPECT_EQ(first_difference(a, b), 3);
  EXPECT_EQ(first_difference(a, c), 3);
}

TEST(Files, TheSlowestRankCounts) {
  const auto folder = testing::TempDir() + "clock";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/host-1") << "file\twritten\t0.1\t0.2\t0.3\t/here/x y\n"
                                    << "file\tread\t1\t1\t1\t/own/z\n";
  std::ofstream(folder + "/host-2") << "file\twritten\t0.1\t0.7\t0.3\t/here/x y\nbroken\n";
  const auto records = read_records(folder, "/own", "/here");
  EXPECT_NEAR((records.files.at({"x y", "written"}).total()), 1.1, 1e-9);
  EXPECT_NEAR((records.files.at({"{}/z", "read"}).total()), 3, 1e-9);
  EXPECT_NEAR(records.all.total(), 3.6, 1e-9);
  std::filesystem::remove_all(folder);
}

Findings findings_of(double native_s, double choir_s, std::size_t pairs) {
  Findings findings;
  findings.files.push_back(
      {"out", "written", {pairs, tools::Pair{native_s, choir_s}}, Bytes::identical, ""});
  findings.all = findings.files.front();
  findings.whole = findings.files.front();
  findings.native = {0.001, native_s - 0.002, 0.001};
  findings.choir = {0.001, choir_s - 0.002, 0.001};
  return findings;
}

TEST(Sentence, FasterSaysHowMuchAndWhere) {
  const auto text = sentence_of(findings_of(2, 1, 8));
  EXPECT_TRUE(text.starts_with("Faster:")) << text;
  EXPECT_NE(text.find("2.00 times as fast (2.00 to 2.00)"), std::string::npos) << text;
  EXPECT_NE(text.find("the calls between open and close"), std::string::npos) << text;
}

TEST(Sentence, EqualIsNotFaster) {
  EXPECT_TRUE(sentence_of(findings_of(1, 1, 8)).starts_with("Not faster:"));
}

TEST(Sentence, SlowerIsNotFasterEither) {
  const auto text = sentence_of(findings_of(1, 2, 8));
  EXPECT_TRUE(text.starts_with("Not faster:")) << text;
  EXPECT_NE(text.find("2.00 times as long"), std::string::npos) << text;
}

TEST(Sentence, ABusyMachineIsNamed) {
  auto findings = findings_of(1, 1, 26);
  for (std::size_t i = 0; i < 26; ++i) findings.all.pairs[i].choir_s = i % 2 == 0 ? 0.3 : 3;
  findings.others_share = 0.5;
  const auto text = sentence_of(findings);
  EXPECT_TRUE(text.starts_with("Too noisy to tell:")) << text;
  EXPECT_NE(text.find("other programs used 50 % of the processors"), std::string::npos) << text;
}

TEST(Sentence, NoFileIsSaid) { EXPECT_NE(sentence_of({}).find("no file"), std::string::npos); }

}  // namespace
}  // namespace choir::compare
