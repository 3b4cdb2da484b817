#include "plan/plan.hpp"

namespace choir {
namespace {

/// Windows one block of the domain is cut into, when the block is larger than a cycle buffer.
std::int64_t windows_per_block(const Run& domain, std::int64_t cycle_bytes) {
  return (domain.length + cycle_bytes - 1) / cycle_bytes;
}

/// Blocks of the domain one window takes, when blocks are smaller than a cycle buffer.
std::int64_t blocks_per_window(const Run& domain, std::int64_t cycle_bytes) {
  return std::max<std::int64_t>(1, cycle_bytes / domain.length);
}

bool block_exceeds_cycle(const Run& domain, std::int64_t cycle_bytes) {
  return domain.length > cycle_bytes;
}

}  // namespace

std::int64_t window_count(const Run& domain, std::int64_t cycle_bytes) {
  if (domain.length <= 0 || domain.count <= 0) return 0;
  if (block_exceeds_cycle(domain, cycle_bytes))
    return windows_per_block(domain, cycle_bytes) * domain.count;
  const auto blocks = blocks_per_window(domain, cycle_bytes);
  return (domain.count + blocks - 1) / blocks;
}

Run window_of(const Run& domain, std::int64_t cycle_bytes, std::int64_t index) {
  if (block_exceeds_cycle(domain, cycle_bytes)) {
    const auto parts = windows_per_block(domain, cycle_bytes);
    const auto begin = index % parts * cycle_bytes;
    return {domain.block(index / parts) + begin, std::min(cycle_bytes, domain.length - begin), 0,
            1};
  }
  const auto blocks = blocks_per_window(domain, cycle_bytes);
  const auto first = index * blocks;
  const auto count = std::min(blocks, domain.count - first);
  return {domain.block(first), domain.length, count > 1 ? domain.stride : 0, count};
}

Extent windows_meeting(const Run& domain, std::int64_t cycle_bytes, Extent range) {
  const auto count = window_count(domain, cycle_bytes);
  if (count == 0 || range.empty()) return {};
  // Windows ascend, so both ends are found by halving.
  const auto first_where = [&](auto&& holds) {
    std::int64_t low = 0, high = count;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (holds(window_of(domain, cycle_bytes, middle)))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  };
  const auto first = first_where([&](const Run& w) { return w.end() > range.begin; });
  const auto last = first_where([&](const Run& w) { return w.offset >= range.end; });
  return {first, std::max(first, last)};
}

std::int64_t window_at(const Run& domain, std::int64_t cycle_bytes, std::int64_t offset) {
  const auto block =
      domain.count == 1 ? 0 : std::min((offset - domain.offset) / domain.stride, domain.count - 1);
  if (block_exceeds_cycle(domain, cycle_bytes))
    return block * windows_per_block(domain, cycle_bytes) +
           (offset - domain.block(block)) / cycle_bytes;
  return block / blocks_per_window(domain, cycle_bytes);
}

std::int64_t next_window(const Run& domain, std::int64_t cycle_bytes, const RankSummary& rank,
                         std::int64_t from) {
  if (rank.empty() || from >= window_count(domain, cycle_bytes)) return -1;
  const auto begin = window_of(domain, cycle_bytes, from).offset;
  const auto place = first_common(rank.shape, rank.span(), domain, begin);
  return place < 0 ? -1 : window_at(domain, cycle_bytes, place);
}

void Plan::shift(std::int64_t delta) {
  for (auto& aggregator : aggregators) aggregator.domain.offset += delta;
}

std::size_t Plan::memory_bytes() const {
  return sizeof *this + aggregators.size() * sizeof(Aggregator) +
         (group_of.size() + writer_of.size()) * sizeof(int) + relay_of_node.size() * sizeof(Relay);
}

}  // namespace choir
