#include "stage/core/queue.hpp"

#include <gtest/gtest.h>

namespace choir::stage {
namespace {

constexpr std::int64_t everything = INT64_MAX;
constexpr int A = 0, B = 1, C = 2;

class QueueTest : public testing::Test {
 protected:
  InodeQueue queue_;
  std::uint64_t number_ = 0;

  void open(std::uint64_t open, std::initializer_list<int> ranks) {
    for (const int rank : ranks) queue_.opening(open).ranks.insert(rank);
    queue_.opening(open).expected = ranks.size();
  }
  Item item(int rank, std::int64_t stamp, std::uint64_t call = 0, Kind kind = Kind::write) {
    Item made;
    made.rank = rank;
    made.words.number = ++number_;
    made.words.stamp = stamp;
    made.words.open = 1;
    made.words.call = call;
    made.words.kind = kind;
    made.words.bytes = 10;
    made.words.span = {0, 10};
    return made;
  }
  /// The stamps of what goes next; all of it goes.
  std::vector<std::int64_t> go(std::int64_t horizon = everything, bool short_of_room = false) {
    const auto unit = queue_.next(horizon, short_of_room);
    std::vector<std::int64_t> stamps;
    for (const auto& one : unit.items) stamps.push_back(one.words.stamp);
    if (unit.empty()) return stamps;
    queue_.remove(unit);
    queue_.take_over(unit.items.front());
    return stamps;
  }
  using Stamps = std::vector<std::int64_t>;
};

TEST_F(QueueTest, EntriesGoInTheOrderOfTheirStamps) {
  open(1, {A, B});
  queue_.add(item(B, 7));
  queue_.add(item(A, 5));
  EXPECT_EQ(go(), Stamps{5});
  EXPECT_EQ(go(), Stamps{7});
  EXPECT_EQ(go(), Stamps{});
}

TEST_F(QueueTest, NothingGoesWhosePredecessorsMayBeUnknown) {
  open(1, {A});
  queue_.add(item(A, 5));
  EXPECT_EQ(go(4), Stamps{});
  EXPECT_EQ(go(5), Stamps{5});
}

TEST_F(QueueTest, SharesGoTogetherWhenAllRanksHaveMadeTheCall) {
  open(1, {A, B});
  queue_.add(item(A, 5, 1));
  EXPECT_EQ(go(), Stamps{});
  queue_.add(item(B, 9, 1));
  EXPECT_EQ(go(), (Stamps{5, 9}));
}

TEST_F(QueueTest, WhatFollowsACallWaitsForTheWholeOfIt) {
  open(1, {A, B});
  queue_.add(item(A, 5, 1));
  queue_.add(item(A, 6));
  EXPECT_EQ(go(), Stamps{});
  queue_.add(item(B, 9, 1));
  EXPECT_EQ(go(), (Stamps{5, 9}));
  EXPECT_EQ(go(), Stamps{6});
}

TEST_F(QueueTest, ARankIsNotHeldUpByACallItHasStillToMake) {
  open(1, {A, B});
  queue_.add(item(A, 5, 1));
  queue_.add(item(A, 6));
  queue_.add(item(B, 7));
  EXPECT_EQ(go(), Stamps{7});
  queue_.add(item(B, 9, 1));
  EXPECT_EQ(go(), (Stamps{5, 9}));
  EXPECT_EQ(go(), Stamps{6});
}

TEST_F(QueueTest, WhoTakesNoPartInACallComesAfterIt) {
  open(1, {A, B});
  queue_.add(item(A, 5, 1));
  queue_.add(item(C, 7));
  EXPECT_EQ(go(), Stamps{});
}

TEST_F(QueueTest, WithoutRoomSharesGoAloneAndWhatFollowsStillWaits) {
  open(1, {A, B});
  queue_.add(item(A, 5, 1));
  queue_.add(item(A, 6));
  EXPECT_EQ(go(everything, true), Stamps{5});
  EXPECT_EQ(go(everything, true), Stamps{});
  queue_.add(item(B, 9, 1));
  EXPECT_EQ(go(), Stamps{9});
  EXPECT_EQ(go(), Stamps{6});
}

TEST_F(QueueTest, AFenceWaitsForBytesInItsSpanAndForNoOthers) {
  open(1, {A, B});
  queue_.add(item(A, 5));
  auto fence = item(B, 8, 0, Kind::fence);
  EXPECT_TRUE(queue_.holds_back(fence));
  fence.words.span = {10, 20};
  EXPECT_FALSE(queue_.holds_back(fence));
}

TEST_F(QueueTest, AFenceDoesNotWaitForACallItsOwnRankHasStillToMake) {
  open(1, {A, B});
  queue_.add(item(A, 5, 1));
  queue_.add(item(A, 6));
  EXPECT_FALSE(queue_.holds_back(item(B, 8, 0, Kind::fence)));
  EXPECT_TRUE(queue_.holds_back(item(A, 9, 0, Kind::fence)));
}

TEST_F(QueueTest, TheSizeIsWhatTheEntriesBeforeLeave) {
  open(1, {A});
  queue_.add(item(A, 5));  // to 10
  auto grow = item(A, 6, 0, Kind::grow);
  grow.words.argument = 30;
  queue_.add(grow);
  auto truncate = item(A, 8, 0, Kind::truncate);
  truncate.words.argument = 4;
  queue_.add(truncate);
  EXPECT_EQ(queue_.size_after(3, 5), 3);
  EXPECT_EQ(queue_.size_after(3, 6), 10);
  EXPECT_EQ(queue_.size_after(3, 7), 30);
  EXPECT_EQ(queue_.size_after(3, 9), 4);
}

TEST_F(QueueTest, ACallThatADeadRankNeverMadeIsLostWithWhatFollowsIt) {
  open(1, {A, B});
  queue_.add(item(A, 4));
  queue_.add(item(A, 5, 1));
  queue_.add(item(A, 6));
  const auto leavings = queue_.abandon(B);
  ASSERT_EQ(leavings.lost.size(), 2U);
  EXPECT_EQ(leavings.lost[0].words.stamp, 5);
  EXPECT_EQ(go(), Stamps{4});
  EXPECT_TRUE(queue_.empty());
}

TEST_F(QueueTest, BytesThatATruncationCutsNeedNotBeWritten) {
  open(1, {A});
  auto beyond = item(A, 4);
  beyond.words.span = {10, 20};
  queue_.add(beyond);
  queue_.add(item(A, 5));
  auto truncate = item(A, 6, 0, Kind::truncate);
  truncate.words.argument = 10;
  queue_.add(truncate);
  auto later = item(A, 7);
  later.words.span = {10, 20};
  queue_.add(later);
  const auto cut = queue_.cut_bytes(everything);
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].words.stamp, 4);
}

TEST_F(QueueTest, AShareThatAnEarlierKeeperWroteIsRemembered) {
  open(1, {A, B});
  queue_.add_written(item(A, 5, 1), false);
  queue_.add(item(A, 6));
  EXPECT_EQ(go(), Stamps{});
  queue_.add(item(B, 9, 1));
  EXPECT_EQ(go(), Stamps{9});
  EXPECT_EQ(go(), Stamps{6});
}

}  // namespace
}  // namespace choir::stage
