// model.hpp: what a file and a buffer must contain after a call, computed without MPI.
#pragma once

#include "random_types.hpp"

namespace choir::test {

using Bytes = std::vector<std::uint8_t>;

/// Consecutive bytes of a data stream, at `offset` of a file or of memory.
struct Segment {
  std::int64_t offset;
  std::int64_t length;
};

/// The first `bytes` bytes, after skipping `skip`, of copies of `map` laid one extent apart from
/// `base`.
std::vector<Segment> stream_segments(const Typemap& map, std::int64_t base, std::int64_t skip,
                                     std::int64_t bytes);

/// The file as it must be. Bytes never written read as zero.
class FileModel {
 public:
  explicit FileModel(Bytes content) : content_(std::move(content)) {}

  void write(const std::vector<Segment>& where, const Bytes& stream);
  void extend(std::int64_t bytes) { content_.resize(static_cast<std::size_t>(bytes)); }
  /// The stream up to the first byte past the end of the file.
  Bytes read(const std::vector<Segment>& where) const;
  const Bytes& content() const { return content_; }
  std::int64_t size() const { return static_cast<std::int64_t>(content_.size()); }

 private:
  Bytes content_;
};

/// Memory around `count` copies of a type: margins and gaps carry a pattern that must survive.
class Buffer {
 public:
  Buffer(const Typemap& map, int count, std::uint64_t pattern);

  void* base() { return store_.data() + origin_; }
  Bytes gather(const std::vector<Segment>& memory) const;
  void scatter(const std::vector<Segment>& memory, const Bytes& stream);
  /// Index of the first byte that differs, relative to base, or no value as `none`.
  static constexpr std::int64_t none = INT64_MIN;
  std::int64_t first_difference(const Buffer& other) const;
  std::uint8_t at(std::int64_t offset) const {
    return store_[static_cast<std::size_t>(origin_ + offset)];
  }

 private:
  Bytes store_;
  std::int64_t origin_;
};

Bytes pattern_bytes(std::size_t count, std::uint64_t pattern);

/// Basic elements in the first `bytes` bytes of copies of `map`, or -1 if one would be cut.
std::int64_t whole_elements(const Typemap& map, std::int64_t bytes);

}  // namespace choir::test
