// extent_set_test.cpp: what was added is covered, nothing else, and it stays bounded.
#include "access/extent_set.hpp"

#include <gtest/gtest.h>

namespace choir {
namespace {

TEST(ExtentSet, CoversWhatWasAddedInAnyOrder) {
  ExtentSet set;
  EXPECT_FALSE(set.covers({0, 1}));
  set.add({20, 30});
  set.add({0, 10});
  EXPECT_FALSE(set.covers({0, 30}));
  set.add({10, 20});
  EXPECT_TRUE(set.covers({0, 30}));
  EXPECT_TRUE(set.covers({5, 25}));
  EXPECT_FALSE(set.covers({5, 31}));
}

TEST(ExtentSet, JoinsAllThatAnExtentTouches) {
  ExtentSet set;
  for (std::int64_t i = 0; i < 10; ++i) set.add({i * 10, i * 10 + 1});
  set.add({5, 85});
  EXPECT_TRUE(set.covers({5, 85}));
  EXPECT_FALSE(set.covers({0, 85}));
  EXPECT_TRUE(set.covers({90, 91}));
}

TEST(ExtentSet, ForgetsRatherThanGrows) {
  ExtentSet set;
  const auto many = static_cast<std::int64_t>(ExtentSet::most_extents);
  for (std::int64_t i = 0; i < many; ++i) set.add({i * 10, i * 10 + 1});
  EXPECT_TRUE(set.covers({0, 1}));
  set.add({many * 10, many * 10 + 1});
  EXPECT_TRUE(set.empty());
}

}  // namespace
}  // namespace choir
