#include "select/class_key.hpp"

#include <gtest/gtest.h>

namespace choir::select {
namespace {

constexpr std::int64_t kib = 1024;

TEST(ClassKey, SegmentsAndInterleavedBlocksAreNotTheSame) {
  const Share segments[] = {{0, 64 * kib, 64 * kib}, {64 * kib, 128 * kib, 64 * kib}};
  const Share blocks[] = {{0, 127 * kib, 64 * kib}, {kib, 128 * kib, 64 * kib}};
  EXPECT_EQ(shape_class(segments, 2).layout, Layout::adjacent);
  EXPECT_EQ(shape_class(blocks, 128).layout, Layout::interleaved);
  EXPECT_FALSE(shape_class(blocks, 128).holes) << "what one rank leaves out another asks for";
}

TEST(ClassKey, SizesThatDifferALittleAreOneClass) {
  const Share once[] = {{0, 70 * kib, 70 * kib}, {70 * kib, 150 * kib, 80 * kib}};
  const Share again[] = {{0, 75 * kib, 75 * kib}, {75 * kib, 143 * kib, 68 * kib}};
  EXPECT_EQ(shape_class(once, 2), shape_class(again, 2));
}

TEST(ClassKey, GapsAndUnevenRanksAreSeen) {
  const Share gaps[] = {{0, 100 * kib, 10 * kib}, {200 * kib, 300 * kib, 30 * kib}};
  const auto key = shape_class(gaps, 40);
  EXPECT_EQ(key.layout, Layout::apart);
  EXPECT_TRUE(key.holes);
  EXPECT_FALSE(key.even);
  const Share none[] = {{0, 0, 0}};
  EXPECT_EQ(shape_class(none, 0).bytes, 0);
}

TEST(ClassKey, TheTextIsReadAgain) {
  for (const bool writing : {false, true})
    for (const int bytes : {0, 9, 10, 24, 47})
      for (const auto layout : {Layout::apart, Layout::adjacent, Layout::interleaved})
        for (const auto ground : {Ground::beyond, Ground::inside, Ground::rewritten, Ground::warm,
                                  Ground::cold, Ground::prepared})
          for (const int files : {1, 12}) {
            const ClassKey key{writing, bytes, bytes / 2, layout, writing, !writing, ground, files};
            EXPECT_EQ(ClassKey::parse(key.text()), key) << key.text();
          }
  EXPECT_EQ((ClassKey{true, 24, 9, Layout::interleaved, true, true, Ground::beyond, 1}).text(),
            "write 16M by 512 interleaved gaps even beyond");
  for (const auto* text :
       {"", "write", "write 16M by 3 apart gaps even beyond",
        "write 16X by 512 apart gaps even beyond", "walk 16M by 512 apart gaps even beyond",
        "write 16M by 512 apart gaps even beyond -3files"})
    EXPECT_FALSE(ClassKey::parse(text)) << text;
}

}  // namespace
}  // namespace choir::select
