#include "access/codec.hpp"

namespace choir {
namespace {

void put(Bytes& out, std::uint64_t value) { encode_number(value, out); }

std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

class Reader {
 public:
  Reader(const unsigned char* data, std::size_t size) : at_(data), end_(data + size) {}

  bool take(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return false;
      const auto byte = *at_++;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

 private:
  const unsigned char* at_;
  const unsigned char* end_;
};

/// The end of a run from the wire; false if it or the run's bytes leave 64 bits.
bool end_of(const Run& run, std::int64_t& end) {
  std::int64_t distance = 0, last = 0, bytes = 0;
  return !__builtin_mul_overflow(run.length, run.count, &bytes) &&
         !__builtin_mul_overflow(run.stride, run.count - 1, &distance) &&
         !__builtin_add_overflow(run.offset, distance, &last) &&
         !__builtin_add_overflow(last, run.length, &end);
}

}  // namespace

void encode_number(std::uint64_t value, Bytes& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<unsigned char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<unsigned char>(value));
}

DecodedNumber decode_number(const unsigned char* data, std::size_t size) {
  Reader reader(data, size);
  DecodedNumber number;
  if (reader.take(number.value)) number.size = size - reader.left();
  return number;
}

void encode(const Runs& runs, Bytes& out) {
  put(out, runs.size());
  std::int64_t expected = 0;
  for (const auto& run : runs) {
    const bool many = run.count > 1;
    put(out, zigzag(run.offset - expected));
    put(out, static_cast<std::uint64_t>(run.length) << 1 | (many ? 1 : 0));
    if (many) {
      put(out, zigzag(run.stride));
      put(out, static_cast<std::uint64_t>(run.count));
    }
    expected = run.end();
  }
}

std::optional<Runs> decode(const unsigned char* data, std::size_t size) {
  Reader reader(data, size);
  std::uint64_t count = 0;
  if (!reader.take(count) || count > reader.left()) return std::nullopt;
  Runs runs;
  runs.reserve(count);
  std::int64_t expected = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t delta = 0, length = 0, stride = 0, blocks = 1;
    if (!reader.take(delta) || !reader.take(length)) return std::nullopt;
    if ((length & 1) != 0 && (!reader.take(stride) || !reader.take(blocks))) return std::nullopt;
    Run run{0, static_cast<std::int64_t>(length >> 1), unzigzag(stride),
            static_cast<std::int64_t>(blocks)};
    if (run.length <= 0 || run.count <= 0) return std::nullopt;
    if (__builtin_add_overflow(expected, unzigzag(delta), &run.offset) || !end_of(run, expected))
      return std::nullopt;
    runs.push_back(run);
  }
  return runs;
}

}  // namespace choir
