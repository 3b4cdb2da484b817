// doorbell_test.cpp: a ring is never lost, and a sleeper never sleeps longer than it was told.
#include "base/doorbell.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace choir {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Doorbell, ABellThatHasRungDoesNotLetSleep) {
  Bell bell;
  const auto start = std::chrono::steady_clock::now();
  {
    Nap nap(bell);
    ring(bell);
    nap.sleep(30);
  }
  EXPECT_LT(seconds_since(start), 10);
  EXPECT_EQ(bell.sleepers.load(), 0U);
}

TEST(Doorbell, ABellNobodyListensToIsNotTouched) {
  Bell bell;
  ring(bell);
  EXPECT_EQ(bell.rung.load(), 0U);
  const Nap nap(bell);
  ring(bell);
  EXPECT_EQ(bell.rung.load(), 1U);
}

TEST(Doorbell, NobodyRingsAndTheTimeIsOver) {
  Bell bell;
  const auto start = std::chrono::steady_clock::now();
  { Nap(bell).sleep(0.02); }
  EXPECT_GE(seconds_since(start), 0.015);
  EXPECT_EQ(bell.sleepers.load(), 0U);
}

TEST(Doorbell, TwoThreadsTakeTurnsWithoutLosingARing) {
  constexpr int turns = 2000;
  Bell left, right;
  std::atomic<int> turn{0};
  // Every wait is bounded far above what a wake-up takes: a lost ring would cost thirty seconds.
  const auto play = [&](int parity, Bell& mine, Bell& theirs) {
    for (int i = parity; i < 2 * turns; i += 2) {
      while (turn.load() != i) {
        Nap nap(mine);
        if (turn.load() != i) nap.sleep(30);
      }
      turn.store(i + 1);
      ring(theirs);
    }
  };
  const auto start = std::chrono::steady_clock::now();
  std::thread other([&] { play(1, right, left); });
  play(0, left, right);
  other.join();
  EXPECT_EQ(turn.load(), 2 * turns);
  EXPECT_LT(seconds_since(start), 25);
}

}  // namespace
}  // namespace choir
