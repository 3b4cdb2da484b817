#include "access/streaming.hpp"

#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace choir {

#ifdef __SSE2__
namespace {

constexpr std::int64_t line = 64;

void stream_line(char* to, const char* from) {
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  const auto a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
  const auto c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

void stream_block(char* to, const char* from, std::int64_t length) {
  const auto head = -reinterpret_cast<std::intptr_t>(to) & (line - 1);
  if (length < head + line) {
    std::memcpy(to, from, static_cast<std::size_t>(length));
    return;
  }
  if (head > 0) std::memcpy(to, from, static_cast<std::size_t>(head));
  auto at = head;
  for (; at + line <= length; at += line) stream_line(to + at, from + at);
  if (at < length) std::memcpy(to + at, from + at, static_cast<std::size_t>(length - at));
}

}  // namespace

void stream_blocks(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                   std::int64_t length, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    stream_block(to + i * to_stride, from + i * from_stride, length);
}

void finish_streaming() { _mm_sfence(); }

#else

void stream_blocks(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                   std::int64_t length, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<std::size_t>(length));
}

void finish_streaming() {}

#endif

}  // namespace choir
