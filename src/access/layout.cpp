#include "access/layout.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace choir {
namespace {

constexpr std::int64_t coarsest_grain = 4096;

std::uint64_t mix(std::uint64_t h, std::uint64_t value) {
  h ^= value + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
  return h ^ (h >> 33);
}

std::int64_t lowest_bit(std::uint64_t bits) {
  return std::int64_t{1} << std::countr_zero(bits | coarsest_grain);
}

}  // namespace

Tile::Tile(Runs runs, std::int64_t extent) : runs_(std::move(runs)), extent_(extent) {
  starts_.reserve(runs_.size() + 1);
  starts_.push_back(0);
  std::uint64_t bits = static_cast<std::uint64_t>(extent);
  hash_ = mix(runs_.size(), static_cast<std::uint64_t>(extent));
  if (!runs_.empty()) span_ = {runs_[0].offset, runs_[0].offset};
  std::int64_t previous_end = runs_.empty() ? 0 : runs_[0].offset;
  for (const auto& run : runs_) {
    starts_.push_back(starts_.back() + run.bytes());
    pieces_ += run.count;
    span_.begin = std::min({span_.begin, run.offset, run.block(run.count - 1)});
    span_.end = std::max({span_.end, run.offset + run.length, run.end()});
    if (run.offset < previous_end || (run.count > 1 && run.stride < run.length)) ascending_ = false;
    previous_end = run.end();
    for (const auto value : {run.offset, run.length, run.stride, run.count})
      hash_ = mix(hash_, static_cast<std::uint64_t>(value));
    bits |= static_cast<std::uint64_t>(run.offset | run.length | run.stride);
  }
  grain_ = lowest_bit(bits);
  contiguous_ = is_block() && runs_[0].length == extent_;
}

std::shared_ptr<const Tile> Tile::moved_apart() const {
  return std::make_shared<const Tile>(runs_, std::max(extent_, span_.size()));
}

std::size_t Tile::run_at(std::int64_t position) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), position);
  return static_cast<std::size_t>(after - starts_.begin()) - 1;
}

/// Lives as long as the program, so that its pointers need no counting: most calls copy it twice.
TilePtr contiguous_tile() {
  static const Tile* const tile = new Tile(Runs{{0, 1, 0, 1}}, 1);
  return {TilePtr(), tile};
}

std::int64_t Layout::offset_of(std::int64_t position) const {
  if (tile->is_contiguous()) return origin + tile->span().begin + position;
  const auto number = position / tile->bytes();
  const auto rest = position % tile->bytes();
  const auto i = tile->run_at(rest);
  const auto& run = tile->runs()[i];
  const auto within = rest - tile->start(i);
  return origin + number * tile->extent() + run.block(within / run.length) + within % run.length;
}

std::int64_t Layout::position_of(std::int64_t offset) const {
  const auto from_first = offset - origin - tile->span().begin;
  if (from_first <= 0) return 0;
  if (tile->is_contiguous()) return from_first;
  const auto number = from_first / tile->extent();
  const auto rest = from_first % tile->extent() + tile->span().begin;
  const auto& runs = tile->runs();
  const auto after = std::partition_point(runs.begin(), runs.end(),
                                          [&](const Run& run) { return run.offset < rest; });
  auto position = number * tile->bytes();
  if (after == runs.begin()) return position;
  const auto i = static_cast<std::size_t>(after - runs.begin()) - 1;
  const auto& run = runs[i];
  const auto within = rest - run.offset;
  const auto block = run.count == 1 ? 0 : std::min(within / run.stride, run.count - 1);
  return position + tile->start(i) + block * run.length +
         std::min(run.length, within - block * run.stride);
}

Extent Access::span() const {
  if (begin >= end) return {};
  return {file.offset_of(begin), file.offset_of(end - 1) + 1};
}

Extent Access::clip(Extent range) const {
  return intersect({file.position_of(range.begin), file.position_of(range.end)}, {begin, end});
}

std::int64_t Access::pieces() const {
  if (begin >= end) return 0;
  if (file.tile->is_contiguous()) return 1;
  const auto whole = bytes() / file.tile->bytes();
  return whole * file.tile->pieces() + (bytes() % file.tile->bytes() != 0 ? 1 : 0);
}

std::int64_t block_grain(Extent span) {
  return lowest_bit(static_cast<std::uint64_t>(span.begin | span.end));
}

std::int64_t Access::grain(Extent span) const {
  if (begin >= end) return coarsest_grain;
  // A contiguous tile has one-byte blocks, yet its pieces are as long as the access.
  if (file.tile->is_contiguous()) return block_grain(span);
  return lowest_bit(
      static_cast<std::uint64_t>(span.begin | span.end | file.tile->grain() | file.origin));
}

std::uint64_t Access::relative_hash() const {
  auto h = mix(file.tile->hash(), static_cast<std::uint64_t>(bytes()));
  return mix(h, static_cast<std::uint64_t>(begin % file.tile->bytes()));
}

}  // namespace choir
