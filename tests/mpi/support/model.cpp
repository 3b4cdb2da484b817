#include "model.hpp"

#include <algorithm>

namespace choir::test {
namespace {
constexpr std::int64_t margin = 64;
}

std::vector<Segment> stream_segments(const Typemap& map, std::int64_t base, std::int64_t skip,
                                     std::int64_t bytes) {
  std::vector<Segment> segments;
  const std::int64_t tile = map.size();
  if (tile == 0 || bytes == 0) return segments;
  base += skip / tile * map.extent();
  skip %= tile;
  for (; bytes > 0; base += map.extent()) {
    for (const Piece& p : map.pieces) {
      const std::int64_t passed = std::min(skip, p.length);
      const std::int64_t length = std::min(p.length - passed, bytes);
      skip -= passed;
      bytes -= length;
      if (length == 0) continue;
      const std::int64_t at = base + p.offset + passed;
      if (!segments.empty() && segments.back().offset + segments.back().length == at)
        segments.back().length += length;
      else
        segments.push_back({at, length});
    }
  }
  return segments;
}

void FileModel::write(const std::vector<Segment>& where, const Bytes& stream) {
  auto from = stream.begin();
  for (const Segment& s : where) {
    if (s.offset + s.length > size())
      content_.resize(static_cast<std::size_t>(s.offset + s.length));
    std::copy_n(from, s.length, content_.begin() + s.offset);
    from += s.length;
  }
}

Bytes FileModel::read(const std::vector<Segment>& where) const {
  Bytes stream;
  for (const Segment& s : where) {
    const std::int64_t length = std::clamp<std::int64_t>(size() - s.offset, 0, s.length);
    if (length > 0)
      stream.insert(stream.end(), content_.begin() + s.offset,
                    content_.begin() + s.offset + length);
    if (length < s.length) break;
  }
  return stream;
}

Bytes pattern_bytes(std::size_t count, std::uint64_t pattern) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::uint8_t>(mix(pattern + i / 8) >> (8 * (i % 8)));
  return bytes;
}

Buffer::Buffer(const Typemap& map, int count, std::uint64_t pattern) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  if (count > 0) {
    const std::int64_t last = (count - 1) * map.extent();
    low = std::min<std::int64_t>(0, map.true_lb() + std::min<std::int64_t>(0, last));
    high = std::max<std::int64_t>(0, map.true_ub() + std::max<std::int64_t>(0, last));
  }
  origin_ = margin - low;
  origin_ = (origin_ + 15) / 16 * 16;
  store_ = pattern_bytes(static_cast<std::size_t>(origin_ + high + margin), pattern);
}

Bytes Buffer::gather(const std::vector<Segment>& memory) const {
  Bytes stream;
  for (const Segment& s : memory)
    stream.insert(stream.end(), store_.begin() + origin_ + s.offset,
                  store_.begin() + origin_ + s.offset + s.length);
  return stream;
}

void Buffer::scatter(const std::vector<Segment>& memory, const Bytes& stream) {
  std::size_t done = 0;
  for (const Segment& s : memory) {
    const auto length = std::min(static_cast<std::size_t>(s.length), stream.size() - done);
    std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(done), length,
                store_.begin() + origin_ + s.offset);
    done += length;
  }
}

std::int64_t Buffer::first_difference(const Buffer& other) const {
  for (std::size_t i = 0; i < store_.size(); ++i)
    if (store_[i] != other.store_[i]) return static_cast<std::int64_t>(i) - origin_;
  return none;
}

std::int64_t whole_elements(const Typemap& map, std::int64_t bytes) {
  const std::int64_t tile = map.size();
  if (tile == 0) return 0;
  std::int64_t elements = bytes / tile * static_cast<std::int64_t>(map.pieces.size());
  bytes %= tile;
  for (const Piece& p : map.pieces) {
    if (bytes < p.length) break;
    bytes -= p.length;
    ++elements;
  }
  return bytes == 0 ? elements : -1;
}

}  // namespace choir::test
