#include "plan/shape.hpp"

#include <algorithm>
#include <bit>

namespace choir {
namespace {

using Wide = __int128;

/// The smallest x >= 0 with low <= step x mod period <= high; -1: none. Euclid's way.
std::int64_t first_multiple_in(std::int64_t step, std::int64_t period, std::int64_t low,
                               std::int64_t high) {
  if (low == 0) return 0;
  if (step == 0) return -1;
  if (step > period - step)  // counting downwards, the numbers fall faster
    return first_multiple_in(period - step, period, period - high, period - low);
  const auto first = (low + step - 1) / step;
  if (first * step <= high) return first;
  // No multiple of the step in the range itself: how often must the period be passed?
  const auto passes =
      first_multiple_in((step - period % step) % step, step, low % step, high % step);
  if (passes < 0) return -1;
  return static_cast<std::int64_t>((Wide{low} + Wide{period} * passes + step - 1) / step);
}

Extent next_block(const Shape& shape, Extent span, std::int64_t from) {
  const auto origin = span.begin - shape.skipped();
  auto block = (from - origin) / shape.stride();
  if (from - origin - block * shape.stride() >= shape.length()) ++block;
  const auto begin = origin + block * shape.stride();
  return intersect({begin, begin + shape.length()}, {from, span.end});
}

std::int64_t cell_bytes(Extent span) {
  return (span.size() + Shape::most_cells - 1) / Shape::most_cells;
}

Extent next_cells(const Shape& shape, Extent span, std::int64_t from) {
  const auto bytes = cell_bytes(span);
  int first = static_cast<int>((from - span.begin) / bytes);
  while (first < Shape::most_cells && !shape.cell(first)) ++first;
  int last = first;
  while (last < Shape::most_cells && shape.cell(last)) ++last;
  return intersect({span.begin + first * bytes, span.begin + last * bytes}, {from, span.end});
}

/// The first offset of the domain from `from` on; -1: none.
std::int64_t next_in(const Run& domain, std::int64_t from) {
  if (from <= domain.offset) return domain.offset;
  if (from >= domain.end()) return -1;
  if (domain.count == 1) return from;
  const auto block = std::min((from - domain.offset) / domain.stride, domain.count - 1);
  if (from < domain.block(block) + domain.length) return from;
  return block + 1 < domain.count ? domain.block(block + 1) : -1;
}

/// Where the next block of the shape begins, behind the one before `from`, that reaches into a
/// block of the domain (as if both went on for ever); -1: none ever does.
std::int64_t next_common_block(const Shape& shape, Extent span, const Run& domain,
                               std::int64_t from) {
  const auto origin = span.begin - shape.skipped();
  const auto block = (from - 1 - origin) / shape.stride() + 1;
  const auto begin = origin + block * shape.stride();
  const auto period = domain.stride;
  const auto reach = std::min(period - 1, domain.length + shape.length() - 2);
  const auto residue = ((begin - domain.offset + shape.length() - 1) % period + period) % period;
  const auto more = first_in_residues(shape.stride() % period, residue, period, reach);
  if (more < 0 || Wide{more} * shape.stride() >= span.end - begin) return -1;
  return begin + more * shape.stride();
}

/// The runs of the tile an access begins in (all of them if it goes on into the next), in file
/// offsets.
Runs runs_of(const Access& access, bool one_tile) {
  const auto& tile = *access.file.tile;
  const auto number = access.begin / tile.bytes();
  const auto base = number * tile.bytes();
  const auto first = one_tile ? tile.run_at(access.begin - base) : 0;
  const auto last = one_tile ? tile.run_at(access.end - 1 - base) : tile.runs().size() - 1;
  Runs runs(tile.runs().begin() + static_cast<std::ptrdiff_t>(first),
            tile.runs().begin() + static_cast<std::ptrdiff_t>(last) + 1);
  for (auto& run : runs) run.offset += access.file.origin + number * tile.extent();
  return runs;
}

/// The bytes of a stride that runs take, relative to the first run's; empty if it is half of them
/// or more.
Extent arc_of(const Runs& runs, std::int64_t stride) {
  Extent arc{0, 0};
  for (const auto& run : runs) {
    const bool aligned = run.count == 1 || run.stride % stride == 0;
    const auto length = aligned ? run.length : run.end() - run.offset;
    auto at = (run.offset - runs[0].offset) % stride;
    if (at > stride / 2) at -= stride;
    arc = {std::min(arc.begin, at), std::max(arc.end, at + length)};
    if (arc.size() > stride / 2) return {};
  }
  return arc;
}

/// The most telling of the strides that a pattern suggests: between tiles, within its longest run,
/// and from run to run (the planes of a subarray).
Shape shape_of_strides(const Access& access, bool one_tile, std::int64_t low) {
  const auto& tile = *access.file.tile;
  const auto runs = runs_of(access, one_tile);
  const auto longest = std::max_element(
      runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.count < b.count; });
  std::array<std::int64_t, 3> strides{one_tile ? 0 : tile.extent(),
                                      longest->count > 1 ? longest->stride : 0,
                                      runs.size() > 1 ? runs[1].offset - runs[0].offset : 0};
  Shape best;
  for (const auto stride : strides) {
    if (stride <= 0 || (!one_tile && tile.extent() % stride != 0)) continue;
    const auto arc = arc_of(runs, stride);
    if (arc.empty()) continue;
    const auto skipped = ((low - runs[0].offset - arc.begin) % stride + stride) % stride;
    const auto shape = Shape::periodic(stride, arc.size(), skipped);
    if (best.kind == Shape::Kind::span ||
        Wide{shape.length()} * best.stride() < Wide{best.length()} * stride)
      best = shape;
  }
  return best;
}

Shape shape_of_cells(const Access& access, Extent span) {
  Shape shape{Shape::Kind::cells, {}};
  const auto bytes = cell_bytes(span);
  auto before = access.begin;
  for (int i = 0; i < Shape::most_cells && before < access.end; ++i) {
    const auto end = span.begin + (i + 1) * bytes;
    const auto position =
        end >= span.end ? access.end : std::max(before, access.file.position_of(end));
    if (position > before) shape.set_cell(i);
    before = position;
  }
  return shape;
}

bool has_empty_cells(const Shape& shape, Extent span) {
  const auto used = (span.size() - 1) / cell_bytes(span) + 1;
  int covered = 0;
  for (const auto word : shape.words) covered += std::popcount(word);
  return covered < used;
}

}  // namespace

std::int64_t first_in_residues(std::int64_t step, std::int64_t start, std::int64_t period,
                               std::int64_t most) {
  if (start <= most) return 0;
  return first_multiple_in(step, period, period - start, period - start + most);
}

Shape shape_of(const Access& access) {
  const auto span = access.span();
  if (access.bytes() == span.size()) return {};
  const auto& tile = *access.file.tile;
  if (tile.is_block())
    return Shape::periodic(tile.extent(), tile.runs()[0].length,
                           access.begin % tile.runs()[0].length);
  const bool one_tile = access.begin / tile.bytes() == (access.end - 1) / tile.bytes();
  const auto shape = shape_of_strides(access, one_tile, span.begin);
  if (shape.kind == Shape::Kind::periodic) return shape;
  const auto cells = shape_of_cells(access, span);
  return has_empty_cells(cells, span) ? cells : shape;
}

Extent next_stretch(const Shape& shape, Extent span, std::int64_t from) {
  from = std::max(from, span.begin);
  if (from >= span.end) return {span.end, span.end};
  if (shape.kind == Shape::Kind::periodic) return next_block(shape, span, from);
  if (shape.kind == Shape::Kind::cells) return next_cells(shape, span, from);
  return {from, span.end};
}

std::int64_t first_common(const Shape& shape, Extent span, const Run& domain, std::int64_t from) {
  for (;;) {
    const auto stretch = next_stretch(shape, span, from);
    if (stretch.empty()) return -1;
    const auto place = next_in(domain, stretch.begin);
    if (place < 0 || place >= span.end) return -1;
    if (place < stretch.end) return place;
    from = place;
    if (shape.kind == Shape::Kind::periodic && domain.count > 1) {
      const auto block = next_common_block(shape, span, domain, stretch.end);
      if (block < 0) return -1;
      from = std::max(from, block);
    }
  }
}

}  // namespace choir
