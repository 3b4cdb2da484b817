// selector_test.cpp: the selector on imaginary machines with a synthetic clock.
#include "select/selector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "imaginary_machine.hpp"
#include "select/signature.hpp"

namespace choir::select {
namespace {

TEST(Selector, SettlesOnTheFastestAndSaysWhy) {
  Selector selector;
  auto machine = usual_machine();
  run(selector, machine, 40);
  const auto choice = selector.next(7, machine.candidates);
  EXPECT_EQ(machine.candidates[choice.candidate].name, "core_first");
  EXPECT_EQ(choice.phase, Phase::serving);
  EXPECT_NE(choice.reason.find("fastest of"), std::string_view::npos) << choice.reason;
}

TEST(Selector, LikelyBestServesFirstAndNativeSecond) {
  Selector selector;
  auto machine = usual_machine();
  const auto out = run(selector, machine, 2);
  EXPECT_EQ(out.chosen, (std::vector<int>{1, 0}));
}

TEST(Selector, NeverTriesWhatDoesNotApply) {
  Selector selector;
  auto machine = usual_machine();
  for (const int c : run(selector, machine, 2000).chosen) EXPECT_NE(c, 5);
}

TEST(Selector, OneCallIsEnoughForTheHopeless) {
  Selector selector;
  Machine machine;
  machine.add("native", 0.010, 0.010);
  machine.add("two_phase", 0.030, 0.011);
  machine.add("individual", 0.030, 0.012);
  const auto out = run(selector, machine, 100);
  EXPECT_EQ(std::count(out.chosen.begin(), out.chosen.end(), 1), 1);
  EXPECT_LE(std::count(out.chosen.begin(), out.chosen.end(), 2), 1);
  const auto long_run = run(selector, machine, 3000);  // affords second opinions, once
  EXPECT_LE(long_run.total_s, 3000 * machine.best_s() * 1.01);
}

TEST(Selector, ExpensiveLookWaitsUntilTheRunCanAffordIt) {
  Selector selector;
  auto machine = usual_machine();
  machine.truth_s[4] = 0.002;  // the estimate is wrong: individual is by far the fastest
  const auto early = run(selector, machine, 100);
  EXPECT_EQ(std::count(early.chosen.begin(), early.chosen.end(), 4), 0);
  const auto late = run(selector, machine, 3000);
  EXPECT_GT(std::count(late.chosen.begin(), late.chosen.end(), 4), 1500);
}

TEST(Selector, OneThatIsFarFromTheBestWaitsTwoHundredCalls) {
  Selector selector;
  Machine machine;
  machine.add("two_phase", 0.010, 0.010);
  machine.add("disk_first", 0.011, 0.011);
  machine.add("native", 0.025, 0.030);
  const auto early = run(selector, machine, 200);
  EXPECT_EQ(std::count(early.chosen.begin(), early.chosen.end(), 2), 0);
  const auto late = run(selector, machine, 400);
  EXPECT_GE(std::count(late.chosen.begin(), late.chosen.end(), 2), 1);
}

TEST(Selector, ShortRunsOfSmallCallsDoNotPayForNewBuffers) {
  Machine machine;
  machine.add("native", 10e-6, 10e-6);
  machine.add("plain", 9e-6, 9e-6);
  machine.add("buffered", 10e-6, 10e-6);
  Selector selector;
  const auto out = run(selector, machine, 50);
  EXPECT_EQ(std::count(out.chosen.begin(), out.chosen.end(), 2), 0);
  const auto late = run(selector, machine, 5000);
  EXPECT_GE(std::count(late.chosen.begin(), late.chosen.end(), 2), 1);
}

TEST(Selector, FirstCallMayBeSlowForEverybody) {
  Selector selector;
  Machine machine;
  machine.first_call = 3;
  machine.add("native", 0.020, 0.022);
  machine.add("two_phase", 0.010, 0.010);
  const auto out = run(selector, machine, 20);
  EXPECT_EQ(out.chosen.back(), 1);
}

TEST(Selector, WhatPreparesForLaterCallsIsNotJudgedByItsFirst) {
  Machine machine;
  machine.add("native", 1.0, 1.0);
  machine.add("mapped", 0.5, 1.1);
  Selector selector;
  machine.candidates[1].cold = true;
  for (int call = 0; call < 40; ++call) {
    const auto choice = selector.next(7, machine.candidates);
    const bool cold = choice.candidate == 1 && machine.candidates[1].cold;
    selector.record(7, choice.candidate, machine.time(choice.candidate) * (cold ? 2.8 : 1),
                    call_bytes, cold);
    if (cold) machine.candidates[1].cold = false;
  }
  EXPECT_EQ(selector.state(7)->winner, 1);
  EXPECT_DOUBLE_EQ(selector.state(7)->candidates[1].cost(), 0.5 / call_bytes);
}

/// A loop over `regions` of a file: what one candidate prepares lasts in each. `Regions::run` gives
/// the time in calls of native.
struct Regions {
  int regions;
  double warm_s, cold_s;  ///< of the candidate that prepares; native takes 1, `plain` 1.02
  std::vector<bool> prepared = std::vector<bool>(static_cast<std::size_t>(regions));
  int by_prepared = 0;

  double run(Selector& selector, int calls) {
    double total = 0;
    by_prepared = 0;
    for (int call = 0; call < calls; ++call) {
      const auto region = static_cast<std::size_t>(call % regions);
      const bool ready = prepared[region];
      const Candidate candidates[] = {
          {"native", 1.1}, {"mapped", ready ? 0.8 : 1.3, !ready}, {"plain", 1.0}};
      const int settled = selector.settled(7, ready);
      const auto choice = settled >= 0 ? selector.serve(7) : selector.next(7, candidates);
      const bool mapped = choice.candidate == 1;
      const double time = mapped ? (ready ? warm_s : cold_s) : choice.candidate == 0 ? 1 : 1.02;
      selector.record(7, choice.candidate, time, call_bytes, mapped && !ready);
      if (mapped) prepared[region] = true;
      by_prepared += mapped;
      total += time;
    }
    return total;
  }
};

TEST(Selector, PreparingManyRegionsIsPaidFromWhatItGains) {
  Selector selector;
  Regions loop{24, 0.5, 1.6};
  EXPECT_LT(loop.run(selector, 50), 50 * 1.03);
  loop.run(selector, 2000);
  EXPECT_LT(loop.run(selector, 240), 240 * 0.55);
  EXPECT_EQ(selector.state(7)->winner, 1);
}

TEST(Selector, ColdCallsAreNoReasonToExamineAgain) {
  Selector selector;
  Regions loop{24, 0.5, 1.6};
  loop.run(selector, 2000);
  EXPECT_EQ(selector.state(7)->examinations, 0);
}

TEST(Selector, WhatIsNeverWarmIsJudgedByItsColdCalls) {
  Selector selector;
  Regions once{100000, 0.5, 1.6};
  EXPECT_LT(once.run(selector, 500), 500 * 1.02);
  EXPECT_LE(once.by_prepared, 4);
  Selector other;
  Regions fast{100000, 0.5, 0.7};
  EXPECT_LT(fast.run(other, 500), 500 * 0.75);
}

TEST(Selector, SettledSignaturesServeWithoutCandidates) {
  Machine machine;
  machine.add("native", 1.0, 1.0);
  machine.add("fast", 0.2, 0.2);
  Selector asked, served;
  EXPECT_EQ(served.settled(7), -1);
  int quick = 0;
  for (int call = 0; call < 200; ++call) {
    const auto choice = asked.next(7, machine.candidates);
    const int settled = served.settled(7);
    const auto same = settled >= 0 ? served.serve(7) : served.next(7, machine.candidates);
    quick += settled >= 0 ? 1 : 0;
    ASSERT_EQ(choice.candidate, same.candidate);
    ASSERT_EQ(choice.phase, same.phase);
    asked.record(7, choice.candidate, machine.truth_s[choice.candidate], call_bytes);
    served.record(7, choice.candidate, machine.truth_s[choice.candidate], call_bytes);
  }
  EXPECT_GT(quick, 150);
}

TEST(Selector, AHiccupIsNotTheEndOfACandidate) {
  Selector selector;
  Machine machine;
  machine.add("native", 0.020, 0.020);
  machine.add("two_phase", 0.010, 0.010);
  for (int call = 0; call < 1000; ++call) {
    const auto choice = selector.next(7, machine.candidates);
    const double hiccup = call < 2 && choice.candidate == 1 ? 10 : 1;
    selector.record(7, choice.candidate, machine.truth_s[choice.candidate] * hiccup, call_bytes);
  }
  EXPECT_EQ(selector.next(7, machine.candidates).candidate, 1);
}

TEST(Selector, OneApplicableCandidateIsTheOnlyOne) {
  Selector selector;
  const std::vector<Candidate> one{{"native", 0.1}, {"mapped", never}};
  const auto choice = selector.next(1, one);
  EXPECT_EQ(choice.candidate, 0);
  EXPECT_EQ(choice.phase, Phase::only);
  EXPECT_EQ(choice.reason, "the only one that applies");
}

TEST(Selector, NativeServesWhenNothingApplies) {
  Selector selector;
  const std::vector<Candidate> none{{"mapped", never}, {"native", never}};
  EXPECT_EQ(selector.next(1, none).candidate, 1);
  EXPECT_EQ(selector.next(2, {}).candidate, -1);
}

TEST(Selector, ManyOutstandingCallsDoNotSpendTheBudgetTwice) {
  Selector selector;
  const auto machine = usual_machine();
  std::vector<int> started;
  for (int i = 0; i < 64; ++i) started.push_back(selector.next(3, machine.candidates).candidate);
  EXPECT_EQ(std::count(started.begin(), started.end(), 4), 0);
  EXPECT_LE(std::count(started.begin(), started.end(), 3), 1);
  for (const int c : started) selector.record(3, c, machine.truth_s[c], call_bytes);
  auto rest = usual_machine();
  EXPECT_EQ(run(selector, rest, 40, 3).chosen.back(), 2);
}

TEST(Selector, EqualCallsGiveEqualDecisionsOnEveryRank) {
  Selector one, other;
  auto machine = usual_machine(9);
  machine.noise = 0.3;
  for (int call = 0; call < 3000; ++call) {
    if (call == 1500) machine.truth_s[2] = 0.05;
    const auto signature = static_cast<std::uint64_t>(call % 3);
    const auto a = one.next(signature, machine.candidates);
    const auto b = other.next(signature, machine.candidates);
    ASSERT_EQ(a.candidate, b.candidate);
    ASSERT_EQ(a.phase, b.phase);
    ASSERT_EQ(a.reason, b.reason);
    const double seconds = machine.time(a.candidate);
    one.record(signature, a.candidate, seconds, call_bytes);
    other.record(signature, b.candidate, seconds, call_bytes);
  }
}

TEST(Selector, AlternatingPatternsKeepWhatTheyLearned) {
  Selector selector;
  auto data = usual_machine();
  Machine metadata(2);
  metadata.add("native", 0.001, 0.001);
  metadata.add("two_phase", 0.004, 0.0011);
  for (int i = 0; i < 40; ++i) {
    run(selector, data, 1, 1);
    run(selector, metadata, 1, 2);
  }
  EXPECT_EQ(selector.next(1, data.candidates).candidate, 2);
  EXPECT_EQ(selector.next(2, metadata.candidates).candidate, 0);
  EXPECT_EQ(selector.state(1)->examinations, 0);
}

TEST(Selector, ForgetsTheLeastRecentlyUsedSignature) {
  Policy policy;
  policy.max_states = 3;
  Selector selector(policy);
  const auto machine = usual_machine();
  for (const std::uint64_t signature : {1, 2, 3, 1, 4})
    selector.next(signature, machine.candidates);
  EXPECT_EQ(selector.size(), 3u);
  EXPECT_EQ(selector.state(2), nullptr);
  EXPECT_NE(selector.state(1), nullptr);
  selector.record(2, 0, 1.0, 1);  // its call was outstanding: no harm
}

TEST(Selector, FailedCallsTellNothing) {
  Selector selector;
  const auto machine = usual_machine();
  const auto choice = selector.next(1, machine.candidates);
  selector.record(1, choice.candidate, std::nan(""), call_bytes);
  EXPECT_FALSE(selector.state(1)->candidates[choice.candidate].measured());
  EXPECT_EQ(selector.state(1)->candidates[choice.candidate].outstanding, 0);
  selector.record(1, 99, 1.0, 1);
  selector.abandon(1, -1);
}

TEST(Selector, ChangedCandidatesStartAnew) {
  Selector selector;
  auto machine = usual_machine();
  run(selector, machine, 40);
  machine.candidates[2].estimate_s = never;
  machine.truth_s[2] = never;
  EXPECT_EQ(run(selector, machine, 40).chosen.back(), 1);
}

TEST(FromMemory, RememberedWinnerServesAllCallsOfAShortJob) {
  Selector selector;
  auto machine = usual_machine();
  selector.seed(7, {"core_first", call_bytes / 0.010});
  EXPECT_EQ(selector.next(7, machine.candidates).phase, Phase::confirming);
  selector.record(7, 2, 0.010, call_bytes);
  const auto out = run(selector, machine, 3);
  EXPECT_LE(out.total_s, 3 * machine.best_s() * 1.02);
  EXPECT_EQ(selector.state(7)->phase, Phase::serving);
  EXPECT_EQ(selector.state(7)->reason, "fastest in an earlier run, confirmed");
}

TEST(FromMemory, AWinnerThatDisappointsIsExaminedAgain) {
  Selector selector;
  auto machine = usual_machine();
  selector.seed(7, {"disk_first", call_bytes / 0.009});
  EXPECT_EQ(run(selector, machine, 60).chosen.back(), 2);
}

TEST(FromMemory, AnUnknownNameIsIgnored) {
  Selector selector;
  auto machine = usual_machine();
  selector.seed(7, {"no_such_strategy", 1e9});
  EXPECT_EQ(selector.next(7, machine.candidates).phase, Phase::examining);
  Selector other;
  other.seed(7, {"mapped", 1e9});
  EXPECT_EQ(other.next(7, machine.candidates).phase, Phase::examining);
}

TEST(FromMemory, OnlySettledResultsAreHandedOn) {
  Selector selector;
  auto machine = usual_machine();
  run(selector, machine, 2);
  EXPECT_TRUE(selector.state(7)->result().name.empty());
  run(selector, machine, 60);
  EXPECT_EQ(selector.state(7)->result().name, "core_first");
  EXPECT_NEAR(selector.state(7)->result().bytes_per_s, call_bytes / 0.010,
              1e-3 * call_bytes / 0.01);
}

TEST(Signature, RanksAddUpInAnyOrder) {
  const auto of = [](int rank) { return Signature().add(rank).add(4096).add(16).value(); };
  EXPECT_EQ(of(0) + of(1) + of(2), of(2) + of(0) + of(1));
  EXPECT_NE(combined_signature(of(0) + of(1), 2), combined_signature(of(0) + of(2), 2));
  EXPECT_NE(combined_signature(0, 1), combined_signature(0, 2));
}

TEST(Signature, MovingThePatternKeepsTheRelativeOffset) {
  EXPECT_EQ(relative_offset(0, 1000, 100, 10), relative_offset(5000, 6000, 100, 10));
  EXPECT_EQ(relative_offset(0, 100, 100, 1), 0);
}

}  // namespace
}  // namespace choir::select
