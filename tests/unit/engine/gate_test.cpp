#include "engine/gate.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace choir {
namespace {

TEST(Gate, LetsOneInAtATime) {
  Gate gate;
  std::atomic<int> inside{0}, most{0}, entered{0};
  const auto visitor = [&] {
    for (int i = 0; i < 2000; ++i) {
      if (!gate.enter()) continue;
      if (++inside > 1) most = 2;
      ++entered;
      --inside;
      gate.leave();
    }
  };
  std::vector<std::thread> visitors;
  for (int i = 0; i < 3; ++i) visitors.emplace_back(visitor);
  for (auto& thread : visitors) thread.join();
  EXPECT_EQ(most, 0);
  EXPECT_GT(entered, 0);
  EXPECT_EQ(gate.taken, 0U);
}

TEST(Gate, WhoNeverLeavesStopsNobody) {
  Gate gate;
  ASSERT_TRUE(gate.enter());
  { const Passage passage(&gate); }
  EXPECT_EQ(gate.taken, 1U) << "a passage that did not get in must not open the gate";
}

TEST(Passage, LeavesWhenItEnds) {
  Gate gate;
  {
    const Passage passage(&gate);
    EXPECT_EQ(gate.taken, 1U);
  }
  EXPECT_EQ(gate.taken, 0U);
  const Passage nowhere(nullptr);
}

}  // namespace
}  // namespace choir
