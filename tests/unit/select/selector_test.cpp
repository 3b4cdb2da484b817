// selector_test.cpp: the selector on imaginary machines with a synthetic clock.
#include "select/selector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include "select/signature.hpp"

namespace choir::select {
namespace {

constexpr std::int64_t call_bytes = 1 << 20;
constexpr double never = std::numeric_limits<double>::infinity();

/// True times of candidates that drift, scatter and hiccup; every run repeats exactly.
class Machine {
 public:
  std::vector<Candidate> candidates;
  std::vector<double> truth_s;
  double noise = 0;        ///< sigma of the logarithm of a time
  double correlation = 0;  ///< between the noise of neighbouring calls
  double hiccup_share = 0;
  double first_call = 1;  ///< the very first call takes this many times longer

  explicit Machine(std::uint64_t seed = 1) : random_(seed) {}

  void add(const std::string& name, double truth, double estimate) {
    candidates.push_back({*names_.insert(name).first, estimate});
    truth_s.push_back(truth);
  }

  double time(int candidate) {
    std::normal_distribution<double> normal;
    wander_ =
        correlation * wander_ + std::sqrt(1 - correlation * correlation) * normal(random_) * noise;
    double factor = std::exp(wander_);
    if (std::uniform_real_distribution<double>()(random_) < hiccup_share) factor *= 10;
    if (calls_++ == 0) factor *= first_call;
    return truth_s[candidate] * factor;
  }

  double best_s() const {
    double best = never;
    for (std::size_t i = 0; i < truth_s.size(); ++i)
      if (std::isfinite(candidates[i].estimate_s)) best = std::min(best, truth_s[i]);
    return best;
  }
  double native_s() const { return truth_s[0]; }

 private:
  std::set<std::string> names_;
  std::mt19937_64 random_;
  double wander_ = 0;
  std::int64_t calls_ = 0;
};

struct Outcome {
  double total_s = 0;  ///< of true times: luck in the noise is neither praised nor blamed
  int switches = 0;    ///< of the winner
  std::vector<int> chosen;
};

Outcome run(Selector& selector, Machine& machine, int calls, std::uint64_t signature = 7,
            const std::function<void(int)>& before_call = {}) {
  Outcome out;
  int winner = -1;
  for (int call = 0; call < calls; ++call) {
    if (before_call) before_call(call);
    const auto choice = selector.next(signature, machine.candidates);
    out.chosen.push_back(choice.candidate);
    out.total_s += machine.truth_s[choice.candidate];
    selector.record(signature, choice.candidate, machine.time(choice.candidate), call_bytes);
    const auto* state = selector.state(signature);
    if (state->phase == Phase::serving && state->winner != winner) {
      out.switches += winner >= 0;
      winner = state->winner;
    }
  }
  return out;
}

/// For the reader of a failure.
std::string told(const Machine& machine, const Outcome& out) {
  std::string text = "truth/estimate:";
  for (std::size_t i = 0; i < machine.truth_s.size(); ++i)
    text += ' ' + std::to_string(machine.truth_s[i]) + '/' +
            std::to_string(machine.candidates[i].estimate_s);
  text += "\nchosen: ";
  for (const int c : out.chosen) text += std::to_string(c);
  return text;
}

Machine usual_machine(std::uint64_t seed = 1) {
  Machine m(seed);
  m.add("native", 0.020, 0.022);
  m.add("two_phase", 0.012, 0.011);
  m.add("core_first", 0.010, 0.012);
  m.add("disk_first", 0.030, 0.025);
  m.add("individual", 0.200, 0.150);
  m.add("mapped", 0.001, never);
  return m;
}

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

TEST(Drift, NoFlappingInTenThousandNoisyCalls) {
  for (const double noise : {0.02, 0.1, 0.2, 0.35})
    for (const double correlation : {0.0, 0.5})
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Selector selector;
        auto machine = usual_machine(seed);
        machine.noise = noise;
        machine.correlation = correlation;
        machine.hiccup_share = 0.02;
        const auto out = run(selector, machine, 10000);
        // Noise of a third that lasts over several calls looks like change for a while.
        const int patience = noise > 0.3 && correlation > 0 ? 4 : 1;
        EXPECT_LE(out.switches, 4 * patience) << noise << ' ' << correlation << " seed " << seed;
        EXPECT_LE(selector.state(7)->examinations, 12 * patience) << noise << ' ' << correlation;
        EXPECT_LE(out.total_s, 10000 * machine.best_s() * (patience > 1 ? 1.12 : 1.06))
            << noise << ' ' << correlation;
      }
}

TEST(Drift, EqualCandidatesDoNotTakeTurns) {
  Selector selector;
  Machine machine(3);
  machine.noise = 0.1;
  for (const auto* name : {"native", "two_phase", "core_first"}) machine.add(name, 0.01, 0.01);
  EXPECT_LE(run(selector, machine, 10000).switches, 2);
}

TEST(Drift, SwitchesWithinThirtyCallsOfATrueChange) {
  for (const double noise : {0.0, 0.05, 0.1})
    for (const int change : {60, 200, 1000, 5000})
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Selector selector;
        auto machine = usual_machine(seed);
        machine.noise = noise;
        machine.truth_s = {0.020, 0.013, 0.016, 0.010, 0.200, 1};  // disk_first is best
        const auto out = run(selector, machine, change + 200, 7, [&](int call) {
          if (call != change) return;
          machine.truth_s = {0.037, 0.025, 0.016, 0.025, 0.200, 1};  // now core_first is
        });
        const auto settled = out.chosen.begin() + change + 30;
        const auto others = std::count_if(settled, out.chosen.end(), [](int c) { return c != 2; });
        EXPECT_LE(others, 6) << noise << " after " << change << " seed " << seed << '\n'
                             << told(machine, out);
      }
}

/// What was never worth a look, because its estimate is far too high, is what a slow network leaves
/// alone.
TEST(Drift, AfterALargeChangeTheUntouchedIsFound) {
  for (const double noise : {0.0, 0.1})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Selector selector;
      Machine machine(seed);
      machine.noise = noise;
      machine.add("native", 0.017, 0.0012);
      machine.add("two_phase", 0.015, 0.0009);
      machine.add("core_first", 0.022, 0.0050);
      const auto out = run(selector, machine, 200, 7, [&](int call) {
        if (call == 63) machine.truth_s = {0.075, 0.044, 0.025};
      });
      const auto settled = out.chosen.begin() + 63 + 30;
      const auto others = std::count_if(settled, out.chosen.end(), [](int c) { return c != 2; });
      EXPECT_LE(others, 6) << noise << " seed " << seed << '\n' << told(machine, out);
    }
}

TEST(Drift, ReturnsWhenTheDisturbanceEnds) {
  Selector selector;
  auto machine = usual_machine();
  machine.noise = 0.05;
  const auto calm = machine.truth_s;
  const auto out = run(selector, machine, 900, 7, [&](int call) {
    if (call == 300) machine.truth_s = {0.02, 0.012, 0.030, 0.03, 0.2, 1};
    if (call == 600) machine.truth_s = calm;
  });
  EXPECT_EQ(out.chosen[580], 1);
  // two_phase itself did not change, so nothing announces that core_first is back; staying is
  // right as far as can be seen and costs the difference of the two.
  EXPECT_TRUE(out.chosen.back() == 1 || out.chosen.back() == 2);
}

constexpr std::uint64_t suite_seed = 42;

/// Estimates wrong by up to a factor of 1.4 either way; native anything from best to worst.
std::vector<Machine> simulated_suite() {
  std::vector<Machine> suite;
  std::mt19937_64 random(suite_seed);
  const auto between = [&](double a, double b) {
    return std::exp(std::uniform_real_distribution<double>(std::log(a), std::log(b))(random));
  };
  for (int i = 0; i < 1200; ++i) {
    Machine m(static_cast<std::uint64_t>(i) + 1);
    m.noise = i % 3 == 0 ? 0 : 0.05;
    for (const auto* name : {"native", "two_phase", "core_first", "disk_first", "hierarchical",
                             "dynamic_segmentation", "individual"}) {
      const double truth = between(0.01, 0.08);
      m.add(name, truth, truth * between(1 / 1.4, 1.4));
    }
    suite.push_back(std::move(m));
  }
  return suite;
}

// Three percent is the aim, and noise the reason why it is not a certainty: two strategies within a
// few percent cannot always be told apart in fifty calls. Of 1200 machines a handful may miss it.
TEST(Regret, HardlyEverMoreThanThreePercentWorseThanNativeInFiftyCalls) {
  int missed = 0;
  for (auto& machine : simulated_suite()) {
    Selector selector;
    const auto out = run(selector, machine, 50);
    missed += out.total_s > 50 * machine.native_s() * 1.03;
    EXPECT_LE(out.total_s, 50 * machine.native_s() * 1.05) << told(machine, out);
  }
  EXPECT_LE(missed, 6);
}

TEST(Regret, CloseToTheBestInTwoHundredCalls) {
  double sum = 0;
  const auto suite = simulated_suite();
  for (auto machine : suite) {
    Selector selector;
    const auto out = run(selector, machine, 200);
    const double worse = out.total_s / (200 * machine.best_s()) - 1;
    EXPECT_LE(worse, 0.15) << told(machine, out);
    sum += worse;
  }
  EXPECT_LE(sum / static_cast<double>(suite.size()), 0.05);
}

TEST(Regret, AJobWithFourCallsLosesLittle) {
  double ours = 0, natives = 0;
  for (auto& machine : simulated_suite()) {
    Selector selector;
    ours += run(selector, machine, 4).total_s;
    natives += 4 * machine.native_s();
  }
  EXPECT_LT(ours, natives);
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
