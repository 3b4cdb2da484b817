#include "access/copy.hpp"

#include <cstring>

#include "access/streaming.hpp"

namespace choir {
namespace {

template <std::int64_t length>
void copy_fixed(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_stride, from + i * from_stride, length);
}

void copy_any(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
              std::int64_t length, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<std::size_t>(length));
}

/// The runs of a stream range, one at a time, with parts of them taken from the front.
class Feed {
 public:
  Feed(const Layout& layout, std::int64_t begin, std::int64_t end)
      : tile_(*layout.tile), origin_(layout.origin), at_(begin), end_(end) {
    locate();
    refill();
  }

  const Run& front() const { return run_; }

  /// Takes `bytes` bytes: whole blocks, or a part of the first.
  void take(std::int64_t bytes) {
    if (bytes == run_.bytes()) {
      refill();
      return;
    }
    const auto whole = bytes / run_.length;
    run_.offset += whole * run_.stride;
    run_.count -= whole;
    const auto rest = bytes - whole * run_.length;
    if (rest > 0) cut_block(rest);
  }

 private:
  /// Leaves the rest of a partly taken block as the front; what follows it is found again later.
  void cut_block(std::int64_t taken) {
    if (run_.count > 1) {
      at_ -= (run_.count - 1) * run_.length;
      run_.count = 1;
      locate();
    }
    run_.offset += taken;
    run_.length -= taken;
    run_.stride = 0;
  }

  void locate() {
    if (at_ >= end_ || tile_.is_contiguous()) return;
    number_ = at_ / tile_.bytes();
    const auto rest = at_ - number_ * tile_.bytes();
    index_ = tile_.run_at(rest);
    within_ = rest - tile_.start(index_);
  }

  void refill() {
    if (at_ >= end_) {
      run_ = {};
      return;
    }
    if (tile_.is_contiguous()) {
      run_ = {origin_ + tile_.runs()[0].offset + at_, end_ - at_, 0, 1};
      at_ = end_;
      return;
    }
    auto run = tile_.runs()[index_];
    run.offset += origin_ + number_ * tile_.extent();
    if (tile_.is_block()) {  // the whole repetition is one run
      run.stride = tile_.extent();
      run.count = (end_ - number_ * tile_.bytes() + run.length - 1) / run.length;
    }
    run_ = first_part(run, within_, std::min(run.bytes(), within_ + end_ - at_));
    at_ += run_.bytes();
    within_ += run_.bytes();
    if (tile_.is_block()) {
      number_ += within_ / tile_.bytes();
      within_ %= tile_.bytes();
    } else if (within_ == run.bytes()) {
      within_ = 0;
      if (++index_ == tile_.runs().size()) {
        index_ = 0;
        ++number_;
      }
    }
  }

  /// The front of the run's bytes [begin, end): the rest of a block, or as many whole blocks as
  /// there are.
  static Run first_part(const Run& run, std::int64_t begin, std::int64_t end) {
    const auto block = begin / run.length;
    const auto skipped = begin - block * run.length;
    if (skipped > 0)
      return {run.block(block) + skipped, std::min(run.length - skipped, end - begin), 0, 1};
    const auto whole = (end - begin) / run.length;
    if (whole == 0) return {run.block(block), end - begin, 0, 1};
    return {run.block(block), run.length, whole > 1 ? run.stride : 0, whole};
  }

  const Tile& tile_;
  std::int64_t origin_;
  std::int64_t at_;  ///< stream position after the front run
  std::int64_t end_;
  // The same position in the tile: which repetition, which run, how many of its bytes are before
  // it.
  std::int64_t number_ = 0;
  std::size_t index_ = 0;
  std::int64_t within_ = 0;
  Run run_;
};

/// What two feeds have in common at their fronts: equal blocks, as many as both can give.
struct Common {
  std::int64_t length = 0;
  std::int64_t count = 0;
  std::int64_t a_stride = 0;
  std::int64_t b_stride = 0;
};

Common common_front(const Run& a, const Run& b) {
  if (a.length == b.length) {
    const auto count = std::min(a.count, b.count);
    return {a.length, count, a.stride, b.stride};
  }
  if (a.length < b.length) {
    const auto count = std::min(a.count, b.length / a.length);
    return {a.length, count, a.stride, a.length};
  }
  const auto count = std::min(b.count, a.length / b.length);
  return {b.length, count, b.length, b.stride};
}

}  // namespace

void copy_blocks(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                 std::int64_t length, std::int64_t count, Stores stores) {
  if (stores == Stores::streaming && length >= least_streamed_bytes)
    return stream_blocks(to, to_stride, from, from_stride, length, count);
  switch (count == 1 ? 0 : length) {
    case 1:
      return copy_fixed<1>(to, to_stride, from, from_stride, count);
    case 2:
      return copy_fixed<2>(to, to_stride, from, from_stride, count);
    case 4:
      return copy_fixed<4>(to, to_stride, from, from_stride, count);
    case 8:
      return copy_fixed<8>(to, to_stride, from, from_stride, count);
    case 16:
      return copy_fixed<16>(to, to_stride, from, from_stride, count);
    case 24:
      return copy_fixed<24>(to, to_stride, from, from_stride, count);
    case 32:
      return copy_fixed<32>(to, to_stride, from, from_stride, count);
    case 64:
      return copy_fixed<64>(to, to_stride, from, from_stride, count);
    case 128:
      return copy_fixed<128>(to, to_stride, from, from_stride, count);
    default:
      return copy_any(to, to_stride, from, from_stride, length, count);
  }
}

void copy_window(Direction direction, const Access& access, std::int64_t begin, std::int64_t end,
                 const Memory& memory, char* window, Stores stores) {
  if (begin >= end) return;
  Feed file(access.file, begin, end);
  Feed mine(memory.layout, begin - access.begin, end - access.begin);
  for (auto left = end - begin; left > 0;) {
    const auto common = common_front(file.front(), mine.front());
    char* const in_window = window + file.front().offset;
    char* const in_memory = reinterpret_cast<char*>(mine.front().offset);
    if (direction == Direction::to_window)
      copy_blocks(in_window, common.a_stride, in_memory, common.b_stride, common.length,
                  common.count, stores);
    else
      copy_blocks(in_memory, common.b_stride, in_window, common.a_stride, common.length,
                  common.count, stores);
    const auto bytes = common.length * common.count;
    file.take(bytes);
    mine.take(bytes);
    left -= bytes;
  }
  if (stores == Stores::streaming) finish_streaming();
}

void copy_packed(Direction direction, const Memory& memory, std::int64_t begin, std::int64_t end,
                 char* packed) {
  visit_runs(memory.layout, begin, end, [&](const Run& run) {
    char* const place = reinterpret_cast<char*>(run.offset);
    if (direction == Direction::to_window)
      copy_blocks(packed, run.length, place, run.stride, run.length, run.count);
    else
      copy_blocks(place, run.stride, packed, run.length, run.length, run.count);
    packed += run.bytes();
  });
}

void copy_runs(Direction direction, const Runs& runs, char* packed, char* base) {
  for (const auto& run : runs) {
    if (direction == Direction::to_window)
      copy_blocks(base + run.offset, run.stride, packed, run.length, run.length, run.count);
    else
      copy_blocks(packed, run.length, base + run.offset, run.stride, run.length, run.count);
    packed += run.bytes();
  }
}

}  // namespace choir
