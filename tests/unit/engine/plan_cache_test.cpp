// plan_cache_test.cpp: which earlier call's plan is found again, and which is forgotten first.
#include "engine/plan_cache.hpp"

#include <gtest/gtest.h>

namespace choir {
namespace {

TilePtr tile(Runs runs, std::int64_t extent) {
  return std::make_shared<Tile>(std::move(runs), extent);
}

std::shared_ptr<PlanEntry> entry(std::uint64_t key, const TilePtr& tile, std::int64_t begin,
                                 std::int64_t bytes) {
  auto made = std::make_shared<PlanEntry>();
  made->key = key;
  made->tile = tile;
  made->begin_in_tile = begin;
  made->bytes = bytes;
  return made;
}

TEST(PlanCache, FindsThePatternWhereverItLies) {
  PlanCache cache;
  const auto made = entry(1, tile({{0, 8, 0, 1}}, 32), 3, 100);
  cache.insert(made);
  const auto equal = tile({{0, 8, 0, 1}}, 32);
  EXPECT_EQ(cache.find(Access{{equal, 0}, 3, 103}), made);
  EXPECT_EQ(cache.find(Access{{equal, 77777}, 8 * 50 + 3, 8 * 50 + 103}), made)
      << "fifty tiles further";
}

TEST(PlanCache, DoesNotTakeOnePatternForAnother) {
  PlanCache cache;
  cache.insert(entry(1, tile({{0, 8, 0, 1}}, 32), 3, 100));
  const auto equal = tile({{0, 8, 0, 1}}, 32);
  EXPECT_EQ(cache.find(Access{{equal, 0}, 4, 104}), nullptr) << "another place in the tile";
  EXPECT_EQ(cache.find(Access{{equal, 0}, 3, 102}), nullptr) << "another size";
  EXPECT_EQ(cache.find(Access{{tile({{0, 8, 0, 1}}, 40), 0}, 3, 103}), nullptr) << "another extent";
  EXPECT_EQ(cache.find(Access{{tile({{4, 8, 0, 1}}, 32), 0}, 3, 103}), nullptr) << "another run";
}

TEST(PlanCache, ARankThatAsksForNothingFindsItsEntry) {
  PlanCache cache;
  const auto made = entry(9, nullptr, 0, 0);
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
  cache.insert(entry(1, first, 0, 100));
  EXPECT_EQ(cache.find(Access{{second, 0}, 0, 100}), nullptr);
}

TEST(PlanCache, AKeyIsKeptOnce) {
  PlanCache cache;
  cache.insert(entry(5, tile({{0, 8, 0, 1}}, 32), 0, 100));
  const auto bytes = cache.bytes();
  const auto later = entry(5, tile({{0, 8, 0, 1}}, 32), 0, 100);
  cache.insert(later);
  EXPECT_EQ(cache.find(std::uint64_t{5}), later);
  EXPECT_EQ(cache.bytes(), bytes);
  EXPECT_EQ(cache.find(std::uint64_t{6}), nullptr);
}

TEST(PlanCache, TheLeastRecentlyUsedEntryGoesFirst) {
  PlanCache cache;
  const auto shape = tile({{0, 8, 0, 1}}, 32);
  const auto each = entry(0, shape, 0, 1)->memory_bytes();
  cache.limit(3 * each);
  for (std::uint64_t key = 1; key <= 3; ++key)
    cache.insert(entry(key, shape, 0, static_cast<std::int64_t>(key)));
  ASSERT_NE(cache.find(std::uint64_t{1}), nullptr);  // now 2 is the oldest
  cache.insert(entry(4, shape, 0, 4));
  EXPECT_EQ(cache.find(std::uint64_t{2}), nullptr);
  for (const std::uint64_t key : {1, 3, 4}) EXPECT_NE(cache.find(key), nullptr) << key;
  EXPECT_LE(cache.bytes(), 3 * each);
}

TEST(PlanCache, IsBoundedInBytesAndKeepsTheNewest) {
  PlanCache cache;
  cache.limit(10'000);
  for (std::uint64_t key = 1; key <= 100; ++key) {
    auto made = entry(key, tile({{0, 8, 0, 1}}, 32), 0, 100);
    made->ranks.resize(20);
    auto plan = std::make_shared<Plan>();
    plan->aggregators.resize(5);
    made->keep("two_phase", "", plan);
    cache.insert(made);
    EXPECT_LE(cache.bytes(), 10'000U);
    EXPECT_EQ(cache.find(key), made);
  }
  auto huge = entry(1000, tile({{0, 8, 0, 1}}, 32), 0, 100);
  huge->ranks.resize(100'000);
  cache.insert(huge);
  EXPECT_EQ(cache.find(std::uint64_t{1000}), huge) << "the call that made it still uses it";
  cache.insert(entry(1001, tile({{0, 8, 0, 1}}, 32), 0, 100));
  EXPECT_EQ(cache.find(std::uint64_t{1000}), nullptr);
}

}  // namespace
}  // namespace choir
