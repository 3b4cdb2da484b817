// copy_test.cpp: copies between layouts, against a loop that moves one byte at a time.
#include "access/copy.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>

#include "naive.hpp"

namespace choir {
namespace {

using naive::ascending_tile;
using naive::expand;
using naive::pick;
using naive::Places;

constexpr std::int64_t guard = 64;

/// Storage for the bytes of some places; the bytes around and between them must stay as they are.
class Field {
 public:
  explicit Field(const Places& places) {
    const auto [low, high] = std::minmax_element(places.begin(), places.end());
    low_ = places.empty() ? 0 : *low;
    bytes_.resize(static_cast<std::size_t>((places.empty() ? 0 : *high - low_ + 1) + 2 * guard));
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(i * 7 + 3);
  }

  /// The address of place 0, which may lie outside of the field.
  std::int64_t origin() const {
    return reinterpret_cast<std::int64_t>(bytes_.data()) + guard - low_;
  }
  char* base() { return reinterpret_cast<char*>(origin()); }
  char& at(std::int64_t place) { return bytes_[static_cast<std::size_t>(place - low_ + guard)]; }
  bool operator==(const Field& other) const { return bytes_ == other.bytes_; }

 private:
  std::int64_t low_ = 0;
  std::vector<char> bytes_;
};

/// Bytes no field starts with in this order.
std::vector<char> numbered(std::size_t size) {
  std::vector<char> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

void fill(Field& field, const Places& places) {
  const auto bytes = numbered(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) field.at(places[i]) = bytes[i];
}

/// copy_window in both directions must do what the loop does, and nothing else.
bool window_copies_agree(const Access& access, const TilePtr& memory_tile, std::int64_t begin,
                         std::int64_t end, Stores stores = Stores::cached) {
  const auto in_file = expand(access.file, begin, end);
  const auto in_memory = expand(Layout{memory_tile, 0}, begin - access.begin, end - access.begin);
  Field memory(in_memory), window(in_file);
  fill(memory, in_memory);
  auto expected_window = window;
  for (std::size_t i = 0; i < in_file.size(); ++i)
    expected_window.at(in_file[i]) = memory.at(in_memory[i]);
  copy_window(Direction::to_window, access, begin, end, {{memory_tile, memory.origin()}},
              window.base(), stores);
  if (!(window == expected_window)) return false;

  fill(window, in_file);
  auto expected_memory = memory;
  for (std::size_t i = 0; i < in_file.size(); ++i)
    expected_memory.at(in_memory[i]) = window.at(in_file[i]);
  copy_window(Direction::from_window, access, begin, end, {{memory_tile, memory.origin()}},
              window.base(), stores);
  return memory == expected_memory;
}

TilePtr blocks_of(std::int64_t length, std::int64_t extent) {
  return std::make_shared<Tile>(Runs{{0, length, 0, 1}}, extent);
}

TEST(Copy, BlocksOfEverySizeAndStride) {
  for (std::int64_t length = 1; length <= 130; ++length)
    for (const std::int64_t count : {1, 2, 7})
      for (const auto to_stride : {length, length + 3, -length - 1})
        for (const auto from_stride : {length, std::int64_t{0}, length + 5, -length}) {
          const choir::Run to_run{0, length, to_stride, count},
              from_run{0, length, from_stride, count};
          const auto to = expand(Runs{to_run}), from = expand(Runs{from_run});
          Field target(to), source(from);
          fill(source, from);
          auto expected = target;
          for (std::size_t i = 0; i < to.size(); ++i) expected.at(to[i]) = source.at(from[i]);
          for (const auto stores : {Stores::cached, Stores::streaming}) {
            auto copied = target;
            copy_blocks(copied.base(), to_stride, source.base(), from_stride, length, count,
                        stores);
            ASSERT_TRUE(copied == expected)
                << length << " x " << count << ", " << to_stride << " from " << from_stride;
          }
        }
}

TEST(Copy, WindowsOfEveryBlockSize) {
  for (std::int64_t length = 1; length <= 130; ++length) {
    const Access access{{blocks_of(length, length + 3), 1000}, 5, 5 + 4 * length};
    for (const auto& memory :
         {blocks_of(length, length + 5), blocks_of(length, -length - 2), blocks_of(length, 0),
          blocks_of(1, 3), blocks_of(7, 9), blocks_of(64, 100),
          blocks_of(2 * length, 2 * length + 1), contiguous_tile()})
      for (const auto stores : {Stores::cached, Stores::streaming})
        ASSERT_TRUE(window_copies_agree(access, memory, access.begin, access.end, stores))
            << length << " against " << memory->runs()[0].length << " every " << memory->extent();
  }
}

RC_GTEST_PROP(CopyProperty, WindowsOfAnyShape, ()) {
  Access access{{ascending_tile(), pick(0, 100)}, pick(0, 100), 0};
  access.end = access.begin + pick(0, 300);
  const auto begin = pick(access.begin, access.end + 1), end = pick(begin, access.end + 1);
  RC_ASSERT(window_copies_agree(access, naive::any_tile(), begin, end));
}

RC_GTEST_PROP(CopyProperty, PackedBytesOfAnyMemory, ()) {
  const auto tile = naive::any_tile();
  const auto begin = pick(0, 200), end = pick(begin, begin + 300);
  const auto places = expand(Layout{tile, 0}, begin, end);
  Field memory(places);
  fill(memory, places);
  std::vector<char> packed(places.size() + 1, 'x');
  copy_packed(Direction::to_window, {{tile, memory.origin()}}, begin, end, packed.data());
  for (std::size_t i = 0; i < places.size(); ++i) RC_ASSERT(packed[i] == memory.at(places[i]));
  RC_ASSERT(packed.back() == 'x');

  packed = numbered(places.size() + 1);
  auto expected = memory;
  for (std::size_t i = 0; i < places.size(); ++i) expected.at(places[i]) = packed[i];
  copy_packed(Direction::from_window, {{tile, memory.origin()}}, begin, end, packed.data());
  RC_ASSERT(memory == expected);
}

RC_GTEST_PROP(CopyProperty, RunsOfAnyShape, ()) {
  Runs runs;
  for (auto n = pick(0, 6); n > 0; --n) append(runs, naive::any_run());
  const auto places = expand(runs);
  Field field(places);
  auto packed = numbered(places.size());
  auto expected = field;
  for (std::size_t i = 0; i < places.size(); ++i) expected.at(places[i]) = packed[i];
  copy_runs(Direction::to_window, runs, packed.data(), field.base());
  RC_ASSERT(field == expected);

  copy_runs(Direction::from_window, runs, packed.data(), field.base());
  for (std::size_t i = 0; i < places.size(); ++i) RC_ASSERT(packed[i] == field.at(places[i]));
}

}  // namespace
}  // namespace choir
