// short_calls_test.cpp: the selector where calls take microseconds, and looking costs more than it
// can find.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "select/selector.hpp"

namespace choir::select {
namespace {

constexpr std::uint64_t signature = 7;
constexpr std::int64_t call_bytes = 8192;
enum : int { native, individual, mapped };

/// What a call of each takes, and what was estimated.
struct Times {
  std::vector<double> truth_s, estimate_s;
  double first_s = 60e-6;  ///< the very first call
};

Times microseconds() { return {{6e-6, 5e-6, 20e-6}, {4e-6, 3e-6, 9e-6}}; }

std::vector<Candidate> offered(const Times& times, bool cold = false) {
  return {{"native", times.estimate_s[native]},
          {"individual", times.estimate_s[individual], false, Debut::free},
          {"mapped", times.estimate_s[mapped], cold, Debut::light, times.estimate_s[mapped] / 2}};
}

/// As the engine does: whoever is not settled yet is timed.
bool times_next(const Selector& selector, bool prepared = true) {
  return selector.settled(signature, prepared) < 0 || selector.wants_time(signature, prepared);
}

/// Who served the calls.
std::vector<int> run(Selector& selector, const Times& times, int calls, bool cold = false) {
  std::vector<int> chosen;
  const auto candidates = offered(times, cold);
  for (int call = 0; call < calls; ++call) {
    const bool timed = times_next(selector, !cold);
    const bool first = selector.state(signature) == nullptr;
    const int candidate = selector.next(signature, candidates).candidate;
    if (timed)
      selector.record(signature, candidate,
                      first ? times.first_s : times.truth_s[static_cast<std::size_t>(candidate)],
                      call_bytes, cold && candidate == mapped);
    else
      selector.forgo_time(signature, candidate);
    chosen.push_back(candidate);
  }
  return chosen;
}

auto count(const std::vector<int>& chosen, int candidate) {
  return std::count(chosen.begin(), chosen.end(), candidate);
}

/// How many of the next calls the selector wants the time of.
int timed_of(Selector& selector, const Times& times, int calls) {
  int timed = 0;
  for (int call = 0; call < calls; ++call) {
    timed += selector.wants_time(signature) ? 1 : 0;
    run(selector, times, 1);
  }
  return timed;
}

TEST(ShortCalls, AShortRunLooksAtNobodyElse) {
  Selector selector;
  EXPECT_EQ(count(run(selector, microseconds(), 50), individual), 50);
  EXPECT_EQ(selector.state(signature)->phase, Phase::serving);
}

/// A mapping that was expected to be the best, on pages that turn out to be many small ones.
TEST(ShortCalls, WhatNeedsNothingIsComparedSoon) {
  Times times{{11e-6, 10e-6, 15e-6}, {14e-6, 13e-6, 12e-6}, 60e-6};
  Selector selector;
  auto chosen = run(selector, times, 50, true);
  EXPECT_EQ(chosen.front(), mapped);
  EXPECT_GE(count(chosen, individual), 40);
  EXPECT_EQ(count(chosen, native), 0);
  times.truth_s[mapped] = 8e-6;
  Selector other;
  chosen = run(other, times, 50, true);
  EXPECT_GE(count(chosen, mapped), 40);
}

TEST(ShortCalls, ALongRunLooksAtNativeToo) {
  Selector selector;
  const auto chosen = run(selector, microseconds(), 20000);
  EXPECT_GE(count(chosen, native), 1);
  EXPECT_GE(count(chosen, individual), 19000);
}

TEST(ShortCalls, ABetterOneIsFoundInALongRun) {
  Selector selector;
  auto times = microseconds();
  times.truth_s[native] = 2e-6;
  const auto chosen = run(selector, times, 20000);
  EXPECT_EQ(chosen.back(), native);
}

TEST(ShortCalls, CallsThatWereOnlyEstimatedShortAreExamined) {
  Selector selector;
  auto times = microseconds();
  times.truth_s = {300e-6, 900e-6, 1200e-6};
  times.first_s = 1e-3;
  const auto chosen = run(selector, times, 50);
  EXPECT_EQ(chosen.back(), native);
  EXPECT_LE(count(chosen, individual), 20);
}

TEST(ShortCalls, WhatPromisesGainIsLookedAtBesideNative) {
  Selector selector;
  Times times{{110e-6, 100e-6, 130e-6}, {80e-6, 72e-6, 88e-6}, 120e-6};
  const auto chosen = run(selector, times, 40, true);
  EXPECT_GE(count(chosen, native), 1);
  EXPECT_GE(count(chosen, mapped), 1);
  // The same, but with nothing to be gained by it.
  Selector other;
  auto candidates = offered(times, true);
  candidates[mapped].warm_estimate_s = candidates[mapped].estimate_s;
  for (int call = 0; call < 12; ++call) {
    const int candidate = other.next(signature, candidates).candidate;
    EXPECT_NE(candidate, mapped);
    other.record(signature, candidate, times.truth_s[static_cast<std::size_t>(candidate)],
                 call_bytes);
  }
}

TEST(ShortCalls, ServingCallsAreSampled) {
  Selector selector;
  const Times times{{60e-6, 50e-6, 200e-6}, {40e-6, 30e-6, 90e-6}};
  run(selector, times, 200);
  EXPECT_NEAR(timed_of(selector, times, 1280), 20, 2);  // a look now and then is timed too
}

TEST(ShortCalls, OfTheFirstEightTheFirstAndTheLastAreTimed) {
  Selector selector;
  const Times times{{45e-6, 30e-6, 200e-6}, {45e-6, 30e-6, 90e-6}};
  EXPECT_EQ(timed_of(selector, times, 1), 1);
  EXPECT_EQ(selector.unattended(signature), 6);
  EXPECT_EQ(timed_of(selector, times, 6), 0);
  EXPECT_EQ(timed_of(selector, times, 1), 1);
  EXPECT_EQ(timed_of(selector, times, 23), 0);
}

TEST(ShortCalls, TheLastOfTheFirstEightSettlesTheNextOnes) {
  Selector selector;
  const Times times{{45e-6, 30e-6, 200e-6}, {45e-6, 30e-6, 90e-6}};
  run(selector, times, 8);
  EXPECT_GE(selector.settled(signature), 0);  // nobody else is worth a look, and that is known
  EXPECT_EQ(selector.state(signature)->phase, Phase::serving);
}

TEST(ShortCalls, TheNextOnesAreSettledAfterTheFirst) {
  Selector selector;
  const Times times{{45e-6, 40e-6, 400e-6}, {45e-6, 40e-6, 400e-6}, 60e-6};
  run(selector, times, 1);
  EXPECT_EQ(selector.settled(signature), individual);
  run(selector, times, 8);
  EXPECT_EQ(selector.settled(signature), individual);
  EXPECT_EQ(selector.state(signature)->phase, Phase::serving);
}

/// First calls are slow whoever serves them. Who is compared with them only would win.
TEST(ShortCalls, ExaminationBeginsWithWhatTheLatestCallTook) {
  Selector selector;
  Times times{{45e-6, 40e-6, 400e-6}, {45e-6, 40e-6, 400e-6}, 300e-6};
  run(selector, times, 9);
  const auto& state = *selector.state(signature);
  EXPECT_NE(state.phase, Phase::brief);
  EXPECT_EQ(state.calls, 9);
  EXPECT_DOUBLE_EQ(state.candidates[individual].cost(), 40e-6 / call_bytes);
}

TEST(ShortCalls, ARunOfFiftyDoesNotPayForLooks) {
  for (const double scale : {12e-6, 25e-6, 50e-6, 90e-6}) {
    Selector selector;
    const Times times{{1.1 * scale, scale, 1.2 * scale}, {scale, 0.9 * scale, scale}, 5 * scale};
    double spent_s = 0;
    for (const int one : run(selector, times, 50))
      spent_s += times.truth_s[static_cast<std::size_t>(one)];
    EXPECT_LE(spent_s, 50 * scale * 1.02);
  }
}

/// Who is estimated to be as fast costs nothing to look at but the longer way of a call that is not
/// settled.
TEST(ShortCalls, TheLongerWayOfALookIsCounted) {
  const Times times{{30e-6, 25e-6, 24e-6}, {30e-6, 25e-6, 24e-6}};
  Selector selector;
  EXPECT_EQ(count(run(selector, times, 50), mapped), 50);
  EXPECT_GE(count(run(selector, times, 2000), individual), 1);
}

/// Calls become faster while what they work on comes into the caches. Who is looked at late is
/// compared with what the winner takes then.
TEST(ShortCalls, ALateLookIsComparedWithAFreshTime) {
  Selector selector;
  const Times times{{30e-6, 26e-6, 20e-6}, {30e-6, 25e-6, 24e-6}};
  const auto candidates = offered(times);
  int by_mapping = 0;
  for (int call = 0; call < 400; ++call) {
    const bool timed = times_next(selector);
    const int candidate = selector.next(signature, candidates).candidate;
    const double slowness = call < 24 ? 1.6 : call < 48 ? 1.2 : 1;
    const double seconds = slowness * times.truth_s[static_cast<std::size_t>(candidate)];
    if (timed)
      selector.record(signature, candidate, seconds, call_bytes);
    else
      selector.forgo_time(signature, candidate);
    by_mapping += candidate == mapped ? 1 : 0;
  }
  EXPECT_GE(by_mapping, 390);
  EXPECT_GE(selector.state(signature)->candidates[individual].calls, 1);
}

TEST(ShortCalls, CallsOfMillisecondsAreExaminedAtOnce) {
  Selector selector;
  run(selector, {{3e-3, 1e-3, 4e-3}, {2e-3, 1.5e-3, 4e-3}}, 1);
  EXPECT_NE(selector.state(signature)->phase, Phase::brief);
}

/// A loop over many places: the first pass by mapping is cold, and none of the later calls would be
/// timed before the next thought.
TEST(ShortCalls, WhoWasColdSoFarIsTimedWhenWarm) {
  Selector selector;
  const auto serve = [&](bool cold, double seconds) {
    const std::vector<Candidate> candidates{{"individual", 30e-6, false, Debut::free},
                                            {"mapped", 20e-6, cold, Debut::light, 6e-6}};
    const bool timed = times_next(selector, !cold);
    const int candidate = selector.next(signature, candidates).candidate;
    const double took = candidate == 0 ? 30e-6 : seconds;
    if (timed)
      selector.record(signature, candidate, took, call_bytes, cold && candidate == 1);
    else
      selector.forgo_time(signature, candidate);
    return candidate;
  };
  for (int call = 0; call < 20; ++call) serve(true, 28e-6);
  EXPECT_TRUE(selector.wants_time(signature));
  EXPECT_EQ(selector.unattended(signature), 0);
  int by_mapping = 0;
  for (int call = 0; call < 200; ++call) by_mapping += serve(false, 7e-6);
  EXPECT_GE(by_mapping, 195);
}

TEST(ShortCalls, TinyOnesAreSampledRarely) {
  Selector selector;
  const auto times = microseconds();
  run(selector, times, 30);
  EXPECT_EQ(timed_of(selector, times, 640), 10);
}

TEST(ShortCalls, ThoseEstimatedToBeTinyAreNotExaminedBeforeTheyAreWorthAThought) {
  Selector selector;
  auto times = microseconds();
  times.first_s = 15e-6;
  constexpr int worth = 240;  // of 5 microseconds: a hundred thoughts of 12
  EXPECT_EQ(count(run(selector, times, worth), individual), worth);
  EXPECT_EQ(selector.state(signature)->phase, Phase::brief);
  EXPECT_TRUE(selector.state(signature)->candidates.empty());
  EXPECT_EQ(selector.settled(signature), -1);
  run(selector, times, 1);
  EXPECT_NE(selector.state(signature)->phase, Phase::brief);
  EXPECT_FALSE(selector.state(signature)->candidates.empty());
}

TEST(ShortCalls, OnlyTheFirstOfThemIsTimedAndALongOneEndsIt) {
  Selector selector;
  auto times = microseconds();
  times.first_s = 15e-6;
  EXPECT_EQ(timed_of(selector, times, 60), 1);
  Selector other;
  times.first_s = 200e-6;
  run(other, times, 1);
  EXPECT_EQ(other.settled(signature), -1);
}

TEST(ShortCalls, AFirstCallMayBeServedBeforeAnybodyIsAsked) {
  Selector selector;
  EXPECT_EQ(selector.serve_briefly(signature, individual).candidate, individual);
  EXPECT_EQ(selector.settled(signature), individual);
  EXPECT_EQ(selector.unattended(signature), 62);  // the last of 64 is timed
  EXPECT_EQ(selector.serve_briefly(signature, individual).candidate, -1);  // known by now
  Selector remembering;
  remembering.seed(signature, {"mapped", 1e9});
  EXPECT_EQ(remembering.serve_briefly(signature, individual).candidate, -1);
  EXPECT_EQ(remembering.next(signature, offered(microseconds())).candidate, mapped);
}

/// The same calls, asked about one by one and as far as nobody has to ask.
TEST(ShortCalls, WhoIsNotAskedDecidesTheSame) {
  const auto times = microseconds();
  const auto candidates = offered(times);
  Selector asked, left_alone;
  std::int64_t calls = 0;
  while (calls < 5000) {
    run(asked, times, 1);
    run(left_alone, times, 1);
    ++calls;
    const auto unattended = left_alone.unattended(signature);
    for (std::int64_t i = 0; i < unattended; ++i) {
      EXPECT_FALSE(asked.wants_time(signature));
      EXPECT_EQ(asked.settled(signature), left_alone.settled(signature));
      run(asked, times, 1);
    }
    left_alone.serve_unattended(signature, unattended);
    calls += unattended;
    ASSERT_EQ(asked.wants_time(signature), left_alone.wants_time(signature));
    ASSERT_EQ(asked.peek(signature, candidates), left_alone.peek(signature, candidates));
    ASSERT_EQ(asked.state(signature)->calls, left_alone.state(signature)->calls);
  }
}

TEST(ShortCalls, OneTinyCallSettlesWhoServesTheNext) {
  Selector selector;
  auto times = microseconds();
  times.first_s = 15e-6;
  EXPECT_EQ(selector.settled(signature), -1);
  run(selector, times, 1);
  EXPECT_EQ(selector.settled(signature), individual);
  // Not so where another one may be worth a look.
  Selector other;
  times.truth_s = {200e-6, 200e-6, 200e-6};
  times.first_s = 200e-6;
  run(other, times, 1);
  EXPECT_EQ(other.settled(signature), -1);
}

TEST(ShortCalls, TinyCallsThatWereExpectedToBeLongerAreSampledFromTheThirdOn) {
  Selector selector;
  const Times times{{6e-6, 5e-6, 20e-6}, {40e-6, 30e-6, 90e-6}, 15e-6};
  EXPECT_EQ(timed_of(selector, times, 64), 2);
}

TEST(ShortCalls, WhoWillServeANewPatternIsKnownBefore) {
  Selector selector;
  const auto candidates = offered(microseconds());
  EXPECT_EQ(selector.peek(signature, candidates), individual);
  EXPECT_EQ(selector.state(signature), nullptr);  // only asked
  EXPECT_EQ(selector.next(signature, candidates).candidate, individual);
  // What an earlier run found is for next() to tell.
  Selector remembering;
  remembering.seed(signature, {"mapped", 1e9});
  EXPECT_EQ(remembering.peek(signature, candidates), -1);
  EXPECT_EQ(remembering.next(signature, candidates).candidate, mapped);
}

TEST(ShortCalls, LongCallsAreAllTimed) {
  Selector selector;
  Times times{{2e-3, 1e-3, 4e-3}, {2e-3, 1e-3, 4e-3}};
  for (int call = 0; call < 100; ++call) {
    EXPECT_TRUE(selector.wants_time(signature));
    run(selector, times, 1);
  }
}

TEST(ShortCalls, ACallWithoutTimeIsNoLongerOutstanding) {
  Selector selector;
  run(selector, microseconds(), 100);
  for (const auto& candidate : selector.state(signature)->candidates)
    EXPECT_EQ(candidate.outstanding, 0);
}

TEST(ShortCalls, NativeNeedsMoreThanATieToServe) {
  Selector selector;
  Times times{{50e-6, 50.5e-6, 500e-6}, {100e-6, 90e-6, 500e-6}, 50.5e-6};
  EXPECT_EQ(run(selector, times, 30).back(), individual);
  Selector longer;
  Times milliseconds{{50e-3, 50.5e-3, 500e-3}, {100e-3, 90e-3, 500e-3}, 50.5e-3};
  EXPECT_EQ(run(longer, milliseconds, 30).back(), native);
}

}  // namespace
}  // namespace choir::select
