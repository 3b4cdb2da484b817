#include "stage/core/merge.hpp"

#include <algorithm>

namespace choir::stage {
namespace {

/// The first block of a run that ends beyond `offset`, which lies below the run's end.
std::int64_t block_beyond(const Run& run, std::int64_t offset) {
  if (run.count == 1 || offset < run.offset + run.length) return 0;
  return (offset - run.offset - run.length) / run.stride + 1;
}

/// The part of a run's packed bytes [begin, end) that lies in a span of the file.
Extent packed_in(const Run& run, Extent span) {
  if (span.begin >= run.end() || span.end <= run.offset) return {};
  const auto position = [&](std::int64_t offset) {
    if (offset >= run.end()) return run.bytes();
    const auto block = block_beyond(run, offset);
    return block * run.length + std::max<std::int64_t>(0, offset - run.block(block));
  };
  return {position(span.begin), position(span.end)};
}

}  // namespace

std::int64_t Window::bytes() const {
  std::int64_t sum = 0;
  for (const auto& source : sources) sum += source.run.bytes();
  return sum;
}

bool Window::is_block() const {
  return sources.size() == 1 && sources[0].run.count == 1 && sources[0].run.length == span.size();
}

std::int64_t Merger::first_byte_from(std::int64_t offset) {
  std::int64_t first = INT64_MAX;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const auto& runs = shares_[i].runs;
    auto& cursor = cursors_[i];
    while (cursor.run < runs.size() && runs[cursor.run].end() <= offset) {
      cursor.position += runs[cursor.run].bytes();
      ++cursor.run;
    }
    if (cursor.run == runs.size()) continue;
    const auto& run = runs[cursor.run];
    first = std::min(first, std::max(offset, run.block(block_beyond(run, offset))));
  }
  return first;
}

void Merger::add_part(std::size_t share, Extent span, Window& window) {
  const auto& runs = shares_[share].runs;
  auto position = cursors_[share].position;
  for (auto i = cursors_[share].run; i < runs.size() && runs[i].offset < span.end; ++i) {
    const auto part = packed_in(runs[i], span);
    auto data = shares_[share].data + position + part.begin;
    visit_part(runs[i], part.begin, part.end, [&](const Run& piece) {
      window.sources.push_back({piece, data});
      data += piece.bytes();
    });
    position += runs[i].bytes();
  }
}

Window Merger::next() {
  Window window;
  const auto begin = first_byte_from(offset_);
  if (begin == INT64_MAX) return window;
  // Windows end where multiples of their size do, so that they are aligned for every file system.
  const auto end = (begin / request_bytes + 1) * request_bytes;
  for (std::size_t i = 0; i < shares_.size(); ++i) add_part(i, {begin, end}, window);
  std::sort(window.sources.begin(), window.sources.end(),
            [](const Source& a, const Source& b) { return a.run.offset < b.run.offset; });
  std::int64_t last = begin;
  for (const auto& source : window.sources) last = std::max(last, source.run.end());
  window.span = {begin, last};
  offset_ = end;
  return window;
}

}  // namespace choir::stage
