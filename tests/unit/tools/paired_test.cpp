// What pairs of times allow to say.
#include "common/paired.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace choir::tools {
namespace {

/// Times of a machine whose noise is `noise` (of the logarithm), choir `factor` times as fast;
/// every tenth time is three times as long, as where something else runs now and then.
std::vector<Pair> measured(std::size_t count, double factor, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, noise);
  std::uniform_int_distribution<int> ten(0, 9);
  const auto time = [&](double s) {
    return s * std::exp(normal(random)) * (ten(random) == 0 ? 3 : 1);
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const double native = time(1.0);
    pairs.push_back({native, time(1.0 / factor)});
  }
  return pairs;
}

Verdict verdict_of(const std::vector<Pair>& pairs) { return judge(ratio_of(pairs)); }

/// As a comparison does it: looks at the scheduled numbers of pairs, stops at the first answer.
Verdict stopping_early(double factor, double noise, unsigned seed) {
  const auto all = measured(kLooks[3], factor, noise, seed);
  for (const auto look : kLooks) {
    const auto verdict = verdict_of({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(look)});
    if (verdict != Verdict::unclear) return verdict;
  }
  return Verdict::unclear;
}

TEST(Paired, TwiceAsFastIsFaster) { EXPECT_EQ(stopping_early(2, 0.1, 1), Verdict::faster); }
TEST(Paired, HalfAsFastIsSlower) { EXPECT_EQ(stopping_early(0.5, 0.1, 2), Verdict::slower); }

TEST(Paired, TheSameWithLittleNoiseIsEqual) {
  std::vector<Pair> pairs;
  for (int i = 0; i < 12; ++i) pairs.push_back({1 + 0.01 * (i % 3), 1 + 0.01 * (i % 2)});
  EXPECT_EQ(verdict_of(pairs), Verdict::equal);
}

TEST(Paired, ABusyMachineIsTooNoisy) { EXPECT_EQ(stopping_early(1.02, 0.8, 3), Verdict::unclear); }

TEST(Paired, FewPairsSayNothing) {
  const std::vector<Pair> pairs(7, Pair{2, 1});
  const auto ratio = ratio_of(pairs);
  EXPECT_DOUBLE_EQ(ratio.estimate, 2);
  EXPECT_TRUE(std::isinf(ratio.high));
  EXPECT_EQ(judge(ratio), Verdict::unclear);
}

TEST(Paired, EightPairsThatAgreeAreEnough) {
  const std::vector<Pair> pairs(8, Pair{2, 1});
  EXPECT_EQ(verdict_of(pairs), Verdict::faster);
}

TEST(Paired, NoPairIsUnclear) { EXPECT_EQ(verdict_of({}), Verdict::unclear); }

TEST(Paired, TimesOfNothingAreLeftOut) { EXPECT_EQ(ratio_of({{0, 1}, {1, 0}, {2, 1}}).pairs, 1U); }

TEST(Paired, OneWildPairOfEighteenDoesNotDecide) {
  std::vector<Pair> pairs(17, Pair{1.5, 1});
  pairs.push_back({1, 100});
  const auto ratio = ratio_of(pairs);
  EXPECT_NEAR(ratio.estimate, 1.5, 0.01);
  EXPECT_EQ(judge(ratio), Verdict::faster);
}

// The table of Wilcoxon's signed ranks: with n = 10 and 1 % on both sides together, the fourth
// smallest average is the first inside (critical value 3).
TEST(Paired, TheIntervalIsThatOfTheTables) {
  std::vector<Pair> pairs;
  for (int i = 0; i < 10; ++i) pairs.push_back({std::exp(std::pow(2.0, i) * 1e-4), 1});
  std::vector<double> averages;
  for (int i = 0; i < 10; ++i)
    for (int j = i; j < 10; ++j) averages.push_back((std::pow(2.0, i) + std::pow(2.0, j)) * 5e-5);
  std::sort(averages.begin(), averages.end());
  EXPECT_NEAR(std::log(ratio_of(pairs).low), averages[3], 1e-12);
}

TEST(Paired, EqualWaysAreSeldomToldApart) {
  int wrong = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const auto verdict = stopping_early(1, 0.3, seed);
    wrong += verdict == Verdict::faster || verdict == Verdict::slower;
  }
  EXPECT_LE(wrong, 40) << "of 1000";
}

TEST(Paired, AnAnswerIsHardlyEverTheWrongOne) {
  for (unsigned seed = 0; seed < 1000; ++seed)
    EXPECT_NE(stopping_early(1.5, 0.3, seed), Verdict::slower) << seed;
}

TEST(Paired, TheReasonNamesWhatWasSeen) {
  const auto pairs = measured(26, 1, 0.8, 4);
  EXPECT_NE(why_unclear(pairs, 0.4).find("40 % of the processors"), std::string::npos);
  EXPECT_EQ(why_unclear(pairs, 0.02).find("processors"), std::string::npos);
  EXPECT_NE(why_unclear({{1, 1}}, 0).find("1 of the 8 pairs"), std::string::npos);
}

}  // namespace
}  // namespace choir::tools
