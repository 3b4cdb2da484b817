#include "select/rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "select/book.hpp"
#include "select/numbers.hpp"
#include "select/paper.hpp"

namespace choir::select {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double bytes = 1 << 20;

std::vector<Contender> usual() {
  return {{"individual", Kind::own, 0.012, 0.012},
          {"two_phase", Kind::exchange, 0.010, 0.010},
          {"core_first", Kind::exchange, 0.011, 0.011},
          {"mapped", Kind::mapping, never, never},
          {"native", Kind::host, 0.013, 0.013}};
}

double truth(std::string_view name) {
  if (name == "individual") return 0.008;
  if (name == "two_phase") return 0.020;
  if (name == "core_first") return 0.019;
  return 0.030;
}

/// Serves calls and returns who did.
std::vector<std::string> run(Evidence& evidence, int calls, double slow = 1,
                             Occasion occasion = {bytes, true, false, 1, nullptr}) {
  std::vector<std::string> served;
  for (int call = 0; call < calls; ++call) {
    const auto contenders = usual();
    const auto decision = choose(evidence, contenders, occasion);
    const auto name = contenders[static_cast<std::size_t>(decision.contender)].name;
    served.emplace_back(name);
    record(evidence, name, decision, slow * truth(name), bytes);
  }
  return served;
}

TEST(Rule, TheBestEstimateBeginsAndTheFastestServesSoon) {
  Evidence evidence;
  const auto served = run(evidence, 12);
  EXPECT_EQ(served[0], "two_phase");
  EXPECT_EQ(served[1], "two_phase") << "one call is nothing to compare with";
  EXPECT_EQ(served[2], "individual") << "the most promising of another kind";
  EXPECT_EQ(served[3], "two_phase") << "a look stands between two calls of who serves";
  EXPECT_EQ(evidence.serves, "individual");
  EXPECT_EQ(served.back(), "individual");
}

TEST(Rule, NobodyIsLookedAtBesideACallThatPaysForTheBeginning) {
  Evidence evidence;
  const auto contenders = usual();
  for (const double slow : {10.0, 1.0}) {
    const auto decision = choose(evidence, contenders, {bytes, true, false, 1, nullptr});
    EXPECT_EQ(decision.role, Role::serving) << slow;
    record(evidence, "two_phase", decision, slow * truth("two_phase"), bytes);
  }
  EXPECT_EQ(choose(evidence, contenders, {bytes, true, false, 1, nullptr}).role, Role::serving);
}

TEST(Rule, NoTwoLooksInARow) {
  Evidence evidence;
  bool looked = false;
  for (int call = 0; call < 100; ++call) {
    const auto contenders = usual();
    const auto decision = choose(evidence, contenders, {bytes, true, false, 1, nullptr});
    EXPECT_FALSE(looked && decision.role == Role::looking) << call;
    looked = decision.role == Role::looking;
    const auto name = contenders[static_cast<std::size_t>(decision.contender)].name;
    record(evidence, name, decision, truth(name), bytes);
  }
}

TEST(Rule, LooksCostAtMostTheirShare) {
  Evidence evidence;
  for (int call = 0; call < 300; ++call) {
    run(evidence, 1);
    EXPECT_LE(evidence.lost_s, numbers::share * evidence.time_s + 0.05);
  }
  EXPECT_TRUE(evidence.compared);
  EXPECT_LE(evidence.lost_s, 0.1 * evidence.time_s);
}

TEST(Rule, ASlowPhaseThatHitsEverybodyChangesNothing) {
  Evidence calm, shaken;
  run(calm, 40);
  run(shaken, 20);
  run(shaken, 10, 5);
  run(shaken, 10);
  EXPECT_EQ(shaken.serves, calm.serves);
}

TEST(Rule, NeighboursTooFarApartJudgeNothing) {
  Evidence evidence;
  record(evidence, "two_phase", {0, Role::serving}, 0.030, bytes);
  record(evidence, "individual", {0, Role::looking}, 0.008, bytes);
  EXPECT_FALSE(record(evidence, "two_phase", {0, Role::serving}, 0.010, bytes));
  EXPECT_EQ(evidence.serves, "two_phase");
  EXPECT_TRUE(evidence.rivals.empty());
}

TEST(Rule, ShortCallsAreNotCompared) {
  Evidence evidence;
  for (const auto& name : run(evidence, 50, 1e-3)) EXPECT_EQ(name, "two_phase");
}

TEST(Rule, CallsThatMayNotLookUseWhatIsKnown) {
  Evidence evidence;
  run(evidence, 20);
  for (int call = 0; call < 30; ++call) {
    const auto decision = choose(evidence, usual(), {bytes, false, false, 1, nullptr});
    EXPECT_EQ(decision.role, Role::serving);
    EXPECT_EQ(decision.contender, 0);
  }
}

TEST(Rule, WhoDoesNotApplyIsReplacedByTheBestThatDoes) {
  Evidence evidence;
  run(evidence, 20);
  auto contenders = usual();
  contenders[0].estimate_s = never;
  const auto decision = choose(evidence, contenders, {bytes, true, false, 1, nullptr});
  EXPECT_EQ(contenders[static_cast<std::size_t>(decision.contender)].name, "two_phase");
  for (auto& one : contenders) one.estimate_s = never;
  EXPECT_EQ(choose(evidence, contenders, {bytes, true, false, 1, nullptr}).contender, -1);
}

TEST(Rule, AFailedLookIsNotRepeatedForEver) {
  Evidence evidence;
  record(evidence, "two_phase", {0, Role::serving}, 0.02, bytes);
  int failures = 0;
  for (int call = 0; call < 60; ++call) {
    const auto contenders = usual();
    const auto decision = choose(evidence, contenders, {bytes, true, false, 1, nullptr});
    const auto name = contenders[static_cast<std::size_t>(decision.contender)].name;
    if (name == "individual") {
      ++failures;
      record_failure(evidence, name, decision.role);
    } else {
      record(evidence, name, decision, truth(name), bytes);
    }
  }
  EXPECT_GE(failures, 1);
  EXPECT_LE(failures, 3);
}

TEST(Rule, FilesThatAreOpenShareTheBudget) {
  Evidence evidence;
  record(evidence, "two_phase", {0, Role::serving}, 0.010, bytes);
  record(evidence, "two_phase", {0, Role::serving}, 0.010, bytes);
  evidence.time_s = 0.025;  // a tenth is enough for individual's 12 ms instead of 10
  const auto looks = [&](int files) {
    return choose(evidence, usual(), {bytes, true, false, files, nullptr}).role == Role::looking;
  };
  EXPECT_TRUE(looks(1));
  EXPECT_FALSE(looks(4));
}

// A mapping pays where calls come back, and only there.
TEST(Book, AMappingIsPreparedWhereCallsComeBack) {
  Book book;
  const std::vector<Contender> cold{{"two_phase", Kind::exchange, 0.010, 0.010},
                                    {"mapped", Kind::mapping, 0.014, 0.003}};
  const std::vector<Contender> warm{{"two_phase", Kind::exchange, 0.010, 0.010},
                                    {"mapped", Kind::mapping, 0.003, 0.003}};
  ClassKey rewritten;
  rewritten.writing = true;
  rewritten.ground = Ground::rewritten;
  auto prepared = rewritten;
  prepared.ground = Ground::prepared;
  constexpr int variables = 24;
  bool is_prepared[variables] = {};
  const Occasion occasion{bytes, true, false, 1, nullptr};
  int by_mapping = 0;
  for (int step = 0; step < 40; ++step)
    for (int v = 0; v < variables; ++v) {
      const bool ready = is_prepared[v];
      const auto& contenders = ready ? warm : cold;
      const auto& key = ready ? prepared : rewritten;
      const auto decision = book.choose(key, contenders, occasion);
      const bool mapped = decision.contender == 1;
      const double seconds = !mapped ? 0.010 : ready ? 0.003 : 0.018;
      if (mapped) is_prepared[v] = true;
      book.record(key, contenders[static_cast<std::size_t>(decision.contender)].name, decision,
                  seconds, bytes);
      if (step == 39) by_mapping += mapped;
    }
  EXPECT_GE(by_mapping, variables - 1);
}

TEST(PaperRule, EachServesThreeCallsAndTheBestMeanServesOn) {
  PaperRule rule;
  std::vector<std::string> served;
  for (int call = 0; call < 20; ++call) {
    const auto contenders = usual();
    const auto decision = rule.choose({}, contenders, {});
    served.emplace_back(contenders[static_cast<std::size_t>(decision.contender)].name);
    rule.record({}, served.back(), decision, truth(served.back()), bytes);
  }
  for (const auto* name : {"individual", "two_phase", "core_first", "native"})
    EXPECT_EQ(std::count(served.begin(), served.begin() + 12, name), 3) << name;
  for (int call = 12; call < 20; ++call)
    EXPECT_EQ(served[static_cast<std::size_t>(call)], "individual");
}

}  // namespace
}  // namespace choir::select
