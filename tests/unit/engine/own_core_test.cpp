// own_core_test.cpp: a thread that changes its core, and may use the same ones afterwards.
#include "engine/own_core.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <thread>
#include <vector>

namespace choir {
namespace {

cpu_set_t allowed_cores() {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  return allowed;
}

std::vector<int> listed(const cpu_set_t& set) {
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  return cores;
}

TEST(OwnCore, AThreadMovesOnlyWhereItMayAndNobodyIs) {
  const auto before = allowed_cores();
  const auto cores = listed(before);
  // It may be moved back at any time: of many tries one is seen where it went.
  bool elsewhere = cores.size() == 1;
  for (int i = 0; i < 100 && !elsewhere; ++i) {
    const int here = sched_getcpu();
    ASSERT_TRUE(change_core({}));
    elsewhere = sched_getcpu() != here;
  }
  EXPECT_TRUE(elsewhere);
  EXPECT_FALSE(change_core(cores));  // all are taken
  const auto after = allowed_cores();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(OwnCore, AThreadThatIsBoundStays) {
  std::thread([] {
    const int here = listed(allowed_cores()).front();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(here), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_FALSE(change_core({}));
    EXPECT_EQ(sched_getcpu(), here);
  }).join();
}

TEST(OwnCore, WhoAsksAgainAtOnceIsNotMoved) {
  std::thread([] {
    const bool first = change_core_once({});
    EXPECT_EQ(first, listed(allowed_cores()).size() > 1);
    EXPECT_FALSE(change_core_once({}));
  }).join();
}

TEST(OwnCore, CoresThatDoNotExistAreNobodys) {
  const std::array nonsense{-1, CPU_SETSIZE, 1 << 30};
  EXPECT_EQ(change_core(nonsense), listed(allowed_cores()).size() > 1);
}

}  // namespace
}  // namespace choir
