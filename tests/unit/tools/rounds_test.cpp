// What bench/choice measures and concludes.
#include <gtest/gtest.h>

#include <set>

#include "evaluate.hpp"

namespace choir::rounds {
namespace {

Scope one_pattern() { return {{"mpich"}, {"vector-512"}, modes(), {2}}; }

TEST(Plan, OddRoundsMeasureOnlyWhoChoosesNothing) {
  const auto launches = launches_of(one_pattern(), 1);
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_TRUE(launches[0].is_fixed());
}

TEST(Plan, EvenRoundsRunAutoFourTimesInEachMode) {
  const auto launches = launches_of(one_pattern(), 2);
  EXPECT_EQ(launches.size(), 1 + modes().size() * kRuns);
  std::set<std::string> keys;
  for (const auto& launch : launches) keys.insert(launch.key());
  EXPECT_EQ(keys.size(), launches.size()) << "keys tell launches apart";
}

TEST(Plan, LargeFilesAreOnlyNewOnes) {
  auto scope = one_pattern();
  scope.patterns = {"large"};
  for (const auto& launch : launches_of(scope, 2))
    EXPECT_TRUE(launch.is_fixed() || launch.mode == "files");
}

/// Four files of a launch, each taking `seconds`.
void add(std::vector<Time>& times, const Launch& launch, const std::string& contender,
         double seconds) {
  for (int file = 0; file < 4; ++file)
    times.push_back(
        {launch, "files", contender, contender, file, seconds / 4, seconds / 2, 9, seconds / 4});
}

/// In odd rounds two_phase is best, in even ones individual; auto takes `factor` times two_phase.
std::vector<Time> measured(double factor) {
  std::vector<Time> times;
  for (int round = 1; round <= 4; ++round) {
    const Launch fixed{"mpich", 2, "vector-512", round, "fixed", 0};
    add(times, fixed, "host", 4);
    add(times, fixed, "two_phase", 1);
    add(times, fixed, "individual", round % 2 == 0 ? 0.5 : 2);
    if (round % 2 != 0) continue;
    for (int run = 1; run <= kRuns; ++run) {
      const Launch chain{"mpich", 2, "vector-512", round, "files", run};
      add(times, chain, "host", 8);
      add(times, chain, "auto", run == 1 ? 2 : factor);
    }
  }
  return times;
}

TEST(Evaluate, TheBestIsNamedInOddRoundsAndComparedInEvenOnes) {
  const auto rows = rows_of(measured(1.1));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].best, "two_phase");
  EXPECT_NEAR(rows[0].against_best.at(4), 1.1, 1e-9);
  EXPECT_NEAR(rows[0].against_best.at(1), 2, 1e-9);
}

TEST(Evaluate, NativeIsThatOfTheSameLaunch) {
  EXPECT_NEAR(rows_of(measured(1))[0].against_native.at(1), 0.25, 1e-9);
}

TEST(Evaluate, SyncIsApart) {
  const auto rows = rows_of(measured(1));
  EXPECT_NEAR(rows[0].fixed.at("two_phase").total_s, 4, 1e-9);
  EXPECT_NEAR(rows[0].fixed.at("two_phase").sync_s, 36, 1e-9);
}

TEST(Targets, AMissIsAMissAndSaysByHowMuch) {
  const auto met = targets_of(rows_of(measured(1)), false)[0];
  EXPECT_EQ(met.outcome, Target::Outcome::met) << met.reached;
  const auto missed = targets_of(rows_of(measured(1.3)), false)[0];
  EXPECT_EQ(missed.outcome, Target::Outcome::missed);
  EXPECT_NE(missed.reached.find("1.30"), std::string::npos) << missed.reached;
}

TEST(Targets, WhatWasNotMeasuredIsNeitherMetNorMissed) {
  for (const auto& target : targets_of({}, false))
    EXPECT_EQ(target.outcome, Target::Outcome::not_measured);
  EXPECT_EQ(target_of({}).outcome, Target::Outcome::not_measured);
}

TEST(Targets, NineChainsOfTen) {
  const Chain good{"mpich", 2, 1, {{1.05, 1}, {9, 1}, {1.0, 1}}}, bad{"mpich", 2, 2, {{1.2, 1}}};
  EXPECT_NEAR(late_ratio(good), 1.05, 1e-9);
  std::vector<Chain> chains(9, good);
  chains.push_back(bad);
  EXPECT_EQ(target_of(chains).outcome, Target::Outcome::met);
  chains.push_back(bad);
  EXPECT_EQ(target_of(chains).outcome, Target::Outcome::missed);
}

TEST(Markdown, NamesWhoServedInstead) {
  auto rows = rows_of(measured(1));
  EXPECT_EQ(markdown_of(rows).find("(two_phase)"), std::string::npos);
  rows[0].fixed.at("individual").strategy = "two_phase";
  EXPECT_NE(markdown_of(rows).find("(two_phase)"), std::string::npos);
}

TEST(Markdown, HasALineForEachRow) {
  const auto text = markdown_of(rows_of(measured(1)));
  EXPECT_NE(text.find("| mpich | 2 | vector-512 | files |"), std::string::npos) << text;
}

}  // namespace
}  // namespace choir::rounds
