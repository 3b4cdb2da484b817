// plan_cache_test.cpp: which earlier call's plan is found again, and which is forgotten first.
#include "engine/plan_cache.hpp"

#include <gtest/gtest.h>

#include <array>

namespace choir {
namespace {

TilePtr tile(Runs runs, std::int64_t extent) {
  return std::make_shared<Tile>(std::move(runs), extent);
}

std::shared_ptr<PlanEntry> entry(const TilePtr& tile, std::int64_t begin, std::int64_t bytes) {
  auto made = std::make_shared<PlanEntry>();
  made->tile = tile;
  made->begin_in_tile = begin;
  made->bytes = bytes;
  return made;
}

TEST(PlanCache, FindsThePatternWhereverItLies) {
  PlanCache cache;
  const auto made = entry(tile({{0, 8, 0, 1}}, 32), 3, 100);
  cache.insert(made);
  const auto equal = tile({{0, 8, 0, 1}}, 32);
  EXPECT_EQ(cache.find(Access{{equal, 0}, 3, 103}), made);
  EXPECT_EQ(cache.find(Access{{equal, 77777}, 8 * 50 + 3, 8 * 50 + 103}), made)
      << "fifty tiles further";
}

TEST(PlanCache, DoesNotTakeOnePatternForAnother) {
  PlanCache cache;
  cache.insert(entry(tile({{0, 8, 0, 1}}, 32), 3, 100));
  const auto equal = tile({{0, 8, 0, 1}}, 32);
  EXPECT_EQ(cache.find(Access{{equal, 0}, 4, 104}), nullptr) << "another place in the tile";
  EXPECT_EQ(cache.find(Access{{equal, 0}, 3, 102}), nullptr) << "another size";
  EXPECT_EQ(cache.find(Access{{tile({{0, 8, 0, 1}}, 40), 0}, 3, 103}), nullptr) << "another extent";
  EXPECT_EQ(cache.find(Access{{tile({{4, 8, 0, 1}}, 32), 0}, 3, 103}), nullptr) << "another run";
}

TEST(PlanCache, ARankThatAsksForNothingFindsItsEntry) {
  PlanCache cache;
  const auto made = entry(nullptr, 0, 0);
  cache.insert(made);
  EXPECT_EQ(cache.find(Access{{contiguous_tile(), 0}, 500, 500}), made);
}

/// The step of a tile's hash, and a value that leads from `state` to `wanted`.
std::uint64_t step(std::uint64_t h, std::uint64_t value) {
  h ^= value + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
  return h ^ (h >> 33);
}
std::uint64_t value_between(std::uint64_t state, std::uint64_t wanted) {
  std::uint64_t inverse = 0xff51afd7ed558ccdULL;  // modulo 2^64, by Newton's iteration
  for (int i = 0; i < 6; ++i) inverse *= 2 - 0xff51afd7ed558ccdULL * inverse;
  const auto multiplied = wanted ^ (wanted >> 33);
  return (state ^ (multiplied * inverse)) - 0x9e3779b97f4a7c15ULL - (state << 6) - (state >> 2);
}

TEST(PlanCache, TilesOfEqualHashAreStillCompared) {
  // The stride of a single block has no meaning, so it can be chosen to make two different tiles
  // collide.
  const auto first = tile({{0, 8, 0, 1}}, 32);
  const auto state = [](std::uint64_t offset, std::uint64_t length) {
    return step(step(step(1, 32), offset), length);
  };
  const auto stride = value_between(state(4, 8), step(state(0, 8), 0));
  const auto second = tile({{4, 8, static_cast<std::int64_t>(stride), 1}}, 32);
  ASSERT_EQ(first->hash(), second->hash()) << "step() no longer mirrors the hash of Tile";
  EXPECT_FALSE(same_tile(*first, *second));

  PlanCache cache;
  cache.insert(entry(first, 0, 100));
  EXPECT_EQ(cache.find(Access{{second, 0}, 0, 100}), nullptr);
}

TEST(PlanCache, OfEqualPatternsTheLatestIsKept) {
  PlanCache cache;
  const auto shape = tile({{0, 8, 0, 1}}, 32);
  cache.insert(entry(shape, 0, 100));
  const auto bytes = cache.bytes();
  const auto later = entry(tile({{0, 8, 0, 1}}, 32), 0, 100);  // others may ask otherwise now
  cache.insert(later);
  EXPECT_EQ(cache.find(Access{{shape, 0}, 0, 100}), later);
  EXPECT_EQ(cache.bytes(), bytes);
}

TEST(PlanCache, TheLeastRecentlyUsedEntryGoesFirst) {
  PlanCache cache;
  const auto shape = tile({{0, 8, 0, 1}}, 32);
  const auto find = [&](std::int64_t bytes) { return cache.find(Access{{shape, 0}, 0, bytes}); };
  const auto each = entry(shape, 0, 1)->memory_bytes();
  cache.limit(3 * each);
  for (const int bytes : {1, 2, 3}) cache.insert(entry(shape, 0, bytes));
  ASSERT_NE(find(1), nullptr);  // now 2 is the oldest
  cache.insert(entry(shape, 0, 4));
  EXPECT_EQ(find(2), nullptr);
  for (const int bytes : {1, 3, 4}) EXPECT_NE(find(bytes), nullptr) << bytes;
  EXPECT_LE(cache.bytes(), 3 * each);
}

PlanKey key_of(const Recipe& recipe, const Parameters& parameters = {}, int seats = 1) {
  return {strategy_from("mine", "", recipe).planner, parameters, seats};
}

TEST(PlanCache, IsBoundedInBytesAndKeepsTheNewest) {
  PlanCache cache;
  cache.limit(10'000);
  const auto shape = tile({{0, 8, 0, 1}}, 32);
  const auto find = [&](std::int64_t bytes) { return cache.find(Access{{shape, 0}, 0, bytes}); };
  for (int bytes = 1; bytes <= 100; ++bytes) {
    auto made = entry(shape, 0, bytes);
    made->ranks.resize(20);
    auto plan = std::make_shared<Plan>();
    plan->aggregators.resize(5);
    cache.insert(made);
    cache.keep(*made, key_of({}), plan);
    EXPECT_LE(cache.bytes(), 10'000U);
    EXPECT_EQ(find(bytes), made);
  }
  auto huge = entry(shape, 0, 1000);
  huge->ranks.resize(100'000);
  cache.insert(huge);
  EXPECT_EQ(find(1000), huge) << "the call that made it still uses it";
  cache.insert(entry(shape, 0, 1001));
  EXPECT_EQ(find(1000), nullptr);
}

TEST(PlanCache, PlansCountAsLongAsTheirEntryIsKept) {
  PlanCache cache;
  const auto shape = tile({{0, 8, 0, 1}}, 32);
  const auto kept = entry(shape, 0, 1), dropped = entry(shape, 0, 2);
  auto plan = std::make_shared<Plan>();
  plan->aggregators.resize(100);
  cache.insert(dropped);
  cache.insert(entry(shape, 0, 2));
  cache.insert(kept);
  const auto before = cache.bytes();
  cache.keep(*dropped, key_of({}), plan);
  EXPECT_EQ(cache.bytes(), before);
  cache.keep(*kept, key_of({}), plan);
  EXPECT_EQ(cache.bytes(), before + kept->memory_bytes() - entry(shape, 0, 1)->memory_bytes());
  EXPECT_EQ(kept->kept(key_of({})), plan);
}

/// A program that walks through a tile meets a new pattern in every call, and none again.
TEST(PlanCache, ACallCostsTheSameHoweverManyEntriesThereAre) {
  constexpr int calls = 4000;
  PlanCache cache;
  cache.limit(std::size_t{1} << 30);
  const auto shape = tile({{0, 8 * calls, 0, 1}}, 16 * calls);
  for (int call = 0; call < calls; ++call) {
    EXPECT_EQ(cache.find(Access{{shape, 0}, 8 * call, 8 * call + 8}), nullptr);
    const auto made = entry(shape, 8 * call, 8);
    cache.insert(made);
    cache.keep(*made, key_of({}), std::make_shared<Plan>());
  }
  EXPECT_LE(cache.looks(), 4 * calls);
  EXPECT_NE(cache.find(Access{{shape, 0}, 0, 8}), nullptr);
  const auto before = cache.looks();
  cache.limit(0);
  cache.insert(entry(shape, 0, 4));  // all others go, each looked at once
  EXPECT_LE(cache.looks(), before + 2 * calls);
}

/// Two files may give one name to different recipes, and so may MPI_File_set_info.
TEST(PlanCache, PlansAreKnownByWhatTheyFollowFrom) {
  PlanCache cache;
  const auto made = entry(tile({{0, 8, 0, 1}}, 32), 0, 8);
  cache.insert(made);
  const auto even = std::make_shared<Plan>();
  const Recipe recipe{Partition::even, Choice::per_node, Cycles::by_offset, Requests::sieve};
  cache.keep(*made, key_of(recipe), even);
  EXPECT_EQ(made->kept(key_of(recipe)), even);
  EXPECT_EQ(made->kept(key_of({Partition::owner})), nullptr) << "another recipe";
  Parameters other;
  other.sieve_threshold = 0.25;
  EXPECT_EQ(made->kept(key_of(recipe, other)), nullptr) << "another threshold";
  EXPECT_EQ(made->kept(key_of(recipe, {}, 2)), nullptr) << "another number of seats";
  EXPECT_EQ(made->kept({{{}, "mine", "a.so"}, {}, 1}), nullptr) << "a plug-in's";
  Parameters later;
  later.turn = 3;
  EXPECT_EQ(made->kept(key_of(recipe, later)), even) << "it is the same in every turn";
}

TEST(PlanCache, PlansOfOneTurnServeNoOther) {
  PlanCache cache;
  const auto made = entry(tile({{0, 8, 0, 1}}, 32), 0, 8);
  cache.insert(made);
  std::array<std::shared_ptr<Plan>, 2> plans;
  for (int turn = 0; turn < 2; ++turn) {
    Parameters parameters;
    parameters.turn = turn;
    EXPECT_EQ(made->kept(key_of({}, parameters)), nullptr);
    plans[static_cast<std::size_t>(turn)] = std::make_shared<Plan>();
    plans[static_cast<std::size_t>(turn)]->turn = turn;
    cache.keep(*made, key_of({}, parameters), plans[static_cast<std::size_t>(turn)]);
    EXPECT_EQ(made->kept(key_of({}, parameters)), plans[static_cast<std::size_t>(turn)]);
  }
}

}  // namespace
}  // namespace choir
