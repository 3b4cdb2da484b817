#include "access/block_copy.hpp"

#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace choir {

#ifdef __SSE2__
namespace {

constexpr std::int64_t line = 64;

/// `to` is the beginning of a line.
void copy_line(char* to, const char* from) {
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  const auto a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
  const auto c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
  _mm_store_si128(target, a);
  _mm_store_si128(target + 1, b);
  _mm_store_si128(target + 2, c);
  _mm_store_si128(target + 3, d);
}

}  // namespace

void copy_block(char* to, const char* from, std::int64_t length) {
  if (length < least_vector_bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(length));
    return;
  }
  auto at = -reinterpret_cast<std::intptr_t>(to) & (line - 1);
  std::memcpy(to, from, static_cast<std::size_t>(at));
  for (; at + line <= length; at += line) copy_line(to + at, from + at);
  std::memcpy(to + at, from + at, static_cast<std::size_t>(length - at));
}

#else

void copy_block(char* to, const char* from, std::int64_t length) {
  std::memcpy(to, from, static_cast<std::size_t>(length));
}

#endif

}  // namespace choir
