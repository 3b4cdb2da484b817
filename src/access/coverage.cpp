#include "access/coverage.hpp"

#include <atomic>
#include <bit>
#include <cstring>

namespace choir {
namespace {

void set(std::uint64_t& word, std::uint64_t mask) {
  std::atomic_ref<std::uint64_t>(word).fetch_or(mask, std::memory_order_relaxed);
}

constexpr std::uint64_t all = ~std::uint64_t{0};

}  // namespace

void Coverage::clear() {
  std::memset(words_, 0, static_cast<std::size_t>((bits() + 63) / 64) * sizeof(std::uint64_t));
}

void Coverage::mark_bits(std::int64_t begin, std::int64_t end) {
  const auto first = begin / 64;
  const auto last = (end - 1) / 64;
  const auto head = all << (begin % 64);
  const auto tail = all >> (63 - (end - 1) % 64);
  if (first == last) {
    set(words_[first], head & tail);
    return;
  }
  set(words_[first], head);
  for (auto i = first + 1; i < last; ++i)
    std::atomic_ref<std::uint64_t>(words_[i]).store(all, std::memory_order_relaxed);
  set(words_[last], tail);
}

void Coverage::mark(const Run& run) {
  const auto up = (std::int64_t{1} << shift_) - 1;
  // Small blocks share words with their neighbours, and with other ranks: one locked access per
  // word, not per block.
  std::int64_t word = -1;
  std::uint64_t gathered = 0;
  for (std::int64_t i = 0; i < run.count; ++i) {
    const auto begin = run.block(i) >> shift_;
    const auto end = (run.block(i) + run.length + up) >> shift_;
    const auto first = begin / 64;
    if (first != (end - 1) / 64) {
      mark_bits(begin, end);
      continue;
    }
    if (first != word) {
      if (gathered != 0) set(words_[word], gathered);
      word = first;
      gathered = 0;
    }
    gathered |= (all << (begin % 64)) & (all >> (63 - (end - 1) % 64));
  }
  if (gathered != 0) set(words_[word], gathered);
}

std::int64_t Coverage::find(std::int64_t bit, bool value) const {
  const auto limit = bits();
  while (bit < limit) {
    auto word = words_[bit / 64];
    if (!value) word = ~word;
    word &= all << (bit % 64);
    if (word != 0) return std::min(limit, bit / 64 * 64 + std::countr_zero(word));
    bit = (bit / 64 + 1) * 64;
  }
  return limit;
}

Extent Coverage::next(std::int64_t from) const {
  const auto begin = find((from + (std::int64_t{1} << shift_) - 1) >> shift_, true);
  if (begin >= bits()) return {bytes_, bytes_};
  const auto end = find(begin, false);
  return {begin << shift_, std::min(bytes_, end << shift_)};
}

std::vector<Extent> Coverage::extents() const {
  std::vector<Extent> found;
  for (auto extent = next(0); !extent.empty(); extent = next(extent.end)) found.push_back(extent);
  return found;
}

}  // namespace choir
