#include "stage/core/part.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "stage/core/room.hpp"

namespace choir::stage {
namespace {

struct alignas(64) Line {
  char bytes[64] = {};
};

class PartTest : public testing::Test {
 protected:
  std::vector<Line> memory_ = std::vector<Line>(Part::size_for(4, 1024) / 64 + 1);
  char* base() { return reinterpret_cast<char*>(memory_.data()); }
  Part part_ = Part::make(base(), 3, 4, 1024);

  Words words(std::uint64_t place, std::int64_t bytes) {
    Words made;
    made.place = place;
    made.bytes = bytes;
    return made;
  }
};

TEST_F(PartTest, WhoeverMapsItFindsWhatWasCommitted) {
  part_.commit(words(64, 100));
  const auto other = Part::in(base());
  ASSERT_TRUE(other);
  EXPECT_EQ(other->rank(), 3);
  EXPECT_EQ(other->committed(), 1U);
  EXPECT_EQ(other->words_of(1)->bytes, 100);
}

TEST_F(PartTest, OtherMemoryIsNoPart) {
  memory_[0] = {};
  EXPECT_FALSE(Part::in(base()));
}

TEST_F(PartTest, ASlotIsUsedAgainOnlyWhenItsEntryIsFinal) {
  for (int i = 0; i < 4; ++i) part_.commit(words(0, 0));
  EXPECT_FALSE(part_.has_slot());
  part_.settle(1, State::written);
  EXPECT_FALSE(part_.has_slot());
  part_.settle(1, State::settled);
  EXPECT_TRUE(part_.has_slot());
}

TEST_F(PartTest, AWildPointerIsNoticed) {
  part_.commit(words(0, 100));
  part_.slot(1).words.bytes = 99;
  EXPECT_FALSE(part_.words_of(1));
}

TEST_F(PartTest, BytesOutsideTheArenaAreRefused) {
  part_.commit(words(1000, 25));
  EXPECT_FALSE(part_.words_of(1));
  part_.commit(words(UINT64_MAX, 1));
  EXPECT_FALSE(part_.words_of(2));
}

TEST(Room, TheLowestPlaceThatFitsIsTaken) {
  Room room;
  EXPECT_EQ(room.take(100, 1024), 0U);
  EXPECT_EQ(room.take(64, 1024), 128U);
  EXPECT_EQ(room.take(64, 1024), 192U);
  room.give_back(128);
  EXPECT_EQ(room.take(65, 1024), 256U);
  EXPECT_EQ(room.take(10, 1024), 128U);
}

TEST(Room, NothingBeyondTheLimitIsTaken) {
  Room room;
  EXPECT_FALSE(room.take(1025, 1024));
  EXPECT_EQ(room.take(1024, 1024), 0U);
  EXPECT_FALSE(room.take(1, 1024));
  EXPECT_EQ(room.largest(1024), 0U);
  EXPECT_EQ(room.largest(2048), 1024U);
  EXPECT_EQ(room.limit_for(100), 1024U + 128);
}

}  // namespace
}  // namespace choir::stage
