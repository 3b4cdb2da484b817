// join_calls_test.cpp: which nonblocking calls go together.
#include "multi/joined.hpp"

#include <gtest/gtest.h>

namespace choir::multi {
namespace {

using Groups = std::vector<std::vector<std::size_t>>;

constexpr HeldCall write_of(int file, bool apart = false) { return {file, true, apart}; }
constexpr HeldCall read_of(int file) { return {file, false, false}; }

Groups joined(const std::vector<HeldCall>& calls) { return join_calls(calls); }

TEST(Joined, NothingIsNoGroup) { EXPECT_EQ(joined({}), Groups{}); }

TEST(Joined, WritesOfAllFilesGoTogether) {
  EXPECT_EQ(joined({write_of(0), write_of(3), write_of(7)}), (Groups{{0, 1, 2}}));
}

TEST(Joined, SeveralCallsOfAFileGoTogether) {
  EXPECT_EQ(joined({write_of(0), write_of(0), write_of(1)}), (Groups{{0, 1, 2}}));
}

TEST(Joined, ReadsFollowWritesOfTheirFile) {
  EXPECT_EQ(joined({write_of(0), read_of(0), write_of(1), read_of(1)}), (Groups{{0, 2}, {1, 3}}));
}

TEST(Joined, AFileThatBeginsOtherwiseWaitsForItsTurn) {
  EXPECT_EQ(joined({write_of(0), read_of(1), write_of(1), read_of(2)}), (Groups{{0}, {1, 3}, {2}}));
}

TEST(Joined, ACallBehindOneThatIsNotJoinedBeginsAGroup) {
  EXPECT_EQ(joined({write_of(0), write_of(0, true), write_of(1)}), (Groups{{0, 2}, {1}}));
  EXPECT_EQ(joined({write_of(0, true), write_of(1, true)}), (Groups{{0, 1}}));
}

TEST(Joined, EveryCallIsInOneGroupAndFilesKeepTheirOrder) {
  std::vector<HeldCall> calls;
  unsigned state = 12345;
  for (int file = 0; file < 40; ++file)
    for (int call = 0; call < 1 + file % 5; ++call) {
      state = state * 1664525 + 1013904223;
      calls.push_back({file, (state >> 16) % 2 == 0, (state >> 20) % 4 == 0});
    }
  std::vector<int> seen(calls.size());
  std::vector<std::ptrdiff_t> last(40, -1);
  for (const auto& group : joined(calls))
    for (const auto index : group) {
      ++seen[index];
      EXPECT_EQ(calls[index].writing, calls[group.front()].writing);
      auto& before = last[static_cast<std::size_t>(calls[index].file)];
      EXPECT_LT(before, static_cast<std::ptrdiff_t>(index));
      before = static_cast<std::ptrdiff_t>(index);
    }
  for (const int times : seen) EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace choir::multi
