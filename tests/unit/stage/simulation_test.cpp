// Whole nodes under a seeded dice: `CHOIR_STAGE_EVENTS` says how many events (make soak: many).
#include "simulation.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace choir::stage::simulation {
namespace {

std::uint64_t events_wanted() {
  const char* const given = std::getenv("CHOIR_STAGE_EVENTS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 100'000;
}

/// Runs seed after seed until there were events enough.
Result run_many(Options options) {
  Result sum;
  for (; sum.events < events_wanted(); ++options.seed) {
    const auto result = run(options);
    sum.events += result.events;
    sum.keepers += result.keepers;
    sum.counts.failed += result.counts.failed;
    sum.counts.dropped += result.counts.dropped;
    if (!result.failure.empty()) {
      ADD_FAILURE() << "seed " << options.seed << ": " << result.failure;
      break;
    }
  }
  return sum;
}

TEST(StageSimulation, EveryAcknowledgedByteReachesItsFile) {
  Options options;
  options.crash = 0;
  options.full = 0;
  run_many(options);
}

TEST(StageSimulation, KillingTheKeeperAtAnyStepLosesNothing) {
  Options options;
  options.seed = 1000;
  options.crash = 0.03;
  EXPECT_GT(run_many(options).keepers, 1000U);
}

TEST(StageSimulation, NothingIsWrittenBeforeTheCallItFollowsIsWhole) {
  Options options;
  options.seed = 2000;
  options.truncates = false;  // they drop shares that need not be written
  run_many(options);
}

TEST(StageSimulation, ABrokenDiskFailsTheFileAndHoldsUpNobody) {
  Options options;
  options.seed = 3000;
  options.broken = 0.05;
  EXPECT_GT(run_many(options).counts.failed, 0U);
}

TEST(StageSimulation, CallsThatADeadRankNeverMadeAreDropped) {
  Options options;
  options.seed = 4000;
  options.kills_rank = true;
  EXPECT_GT(run_many(options).counts.dropped, 0U);
}

}  // namespace
}  // namespace choir::stage::simulation
