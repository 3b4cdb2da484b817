// costs_test.cpp: from times of 1, 2, 4 ... processes to what is shared out and what is not, and a
// crew of processes that works together.
#include "measure/costs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace choir::measure {
namespace {

TEST(SharedCost, OfALockNothingIsSharedOut) {
  const auto cost = shared_cost({{1, 2e-9}, {2, 2e-9}, {16, 2e-9}});
  EXPECT_NEAR(cost.at(1), 2e-9, 1e-15);
  EXPECT_NEAR(cost.at(64), 2e-9, 1e-15);
}

TEST(SharedCost, OfIndependentWorkEverythingIs) {
  const auto cost = shared_cost({{1, 8e-9}, {2, 4e-9}, {4, 2e-9}, {8, 1e-9}});
  EXPECT_NEAR(cost.together, 0, 1e-15);
  EXPECT_NEAR(cost.divided, 8e-9, 1e-15);
}

TEST(SharedCost, ThoseWhoHinderEachOtherAreDescribedToo) {
  const auto cost = shared_cost({{1, 1e-9}, {2, 2e-9}});
  EXPECT_NEAR(cost.at(1), 1e-9, 1e-15);
  EXPECT_NEAR(cost.at(2), 2e-9, 1e-15);
}

TEST(SharedCost, IsNeverBelowZero) {
  // More than twice as fast with two, and a thousand times slower: neither has such a line.
  for (const auto& times : {std::vector<UnitTime>{{1, 9e-9}, {2, 1e-9}},
                            std::vector<UnitTime>{{1, 1e-9}, {2, 1e-6}, {4, 1e-9}}})
    for (const double ranks : {1, 2, 4, 1000}) EXPECT_GE(shared_cost(times).at(ranks), 0) << ranks;
}

TEST(SharedCost, OfOneCoreIsWhatItTook) {
  EXPECT_NEAR(shared_cost({{1, 3e-9}}).at(16), 3e-9, 1e-15);
  EXPECT_EQ(shared_cost({}).at(1), 0);
}

TEST(Quartile, OneDisturbedRoundDoesNotCount) {
  EXPECT_EQ(lower_quartile({}), 0);
  EXPECT_EQ(lower_quartile({5}), 5);
  EXPECT_EQ(lower_quartile({1, 100, 2, 3, 2, 2, 90, 80}), 2);
}

/// A machine whose requests take 1 us and whose bytes take 1 ns, alone or together.
TEST(Costs, BytesAndRequestsAreToldApart) {
  std::array<Amount, figures> amounts;
  amounts.fill({1 << 26, 64});
  for (const auto small : {Figure::write_new_small, Figure::write_again_small, Figure::read_small,
                           Figure::reserve_small})
    amounts[static_cast<std::size_t>(small)] = {1 << 23, 2048};
  Sample one{1, {}}, two{2, {}};
  for (auto* const sample : {&one, &two})
    for (std::size_t figure = 0; figure < figures; ++figure)
      sample->seconds[figure] = {amounts[figure].bytes * 1e-9 + amounts[figure].requests * 1e-6};
  const auto costs = costs_from({one, two}, amounts);
  EXPECT_TRUE(costs.measured);
  EXPECT_NEAR(costs.write_new.per_byte.at(2), 1e-9, 1e-13);
  EXPECT_NEAR(costs.write_new.per_request.at(2), 1e-6, 1e-10);
  EXPECT_NEAR(costs.read.per_request.at(1), 1e-6, 1e-10);
}

TEST(Crew, WorksTogetherAndMeets) {
  Crew crew(3, {[](Crew& together, int, int members) {
              for (int i = 0; i < 50; ++i)
                if (!together.meet(members)) return ECANCELED;
              return 0;
            }});
  for (int members = 1; members <= crew.size(); ++members) EXPECT_GT(crew.run(0, members), 0);
}

TEST(Crew, OneMembersErrorIsTold) {
  Crew crew(2, {[](Crew&, int me, int) { return me == 1 ? ENOSPC : 0; }});
  try {
    crew.run(0, 2);
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOSPC);
  }
}

TEST(Crew, AMemberThatDiesEndsTheMeasuring) {
  Crew crew(2, {[](Crew&, int me, int) -> int {
              if (me == 1) _exit(3);
              return 0;
            }});
  EXPECT_THROW(crew.run(0, 2), std::system_error);
}

}  // namespace
}  // namespace choir::measure
