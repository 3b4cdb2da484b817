// lines.hpp: a block copied a cache line at a time, for those who choose how lines are stored.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>

#include <cstdint>
#include <cstring>

namespace choir {

constexpr std::int64_t line_bytes = 64;

/// Copies a block; `store(place, vector)` stores what lies in whole lines of the target, at aligned
/// places in ascending order. What lies before and behind them goes by memcpy.
template <class Store>
void copy_by_lines(char* to, const char* from, std::int64_t length, Store&& store) {
  auto at = -reinterpret_cast<std::intptr_t>(to) & (line_bytes - 1);
  if (length < at + line_bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(length));
    return;
  }
  if (at > 0) std::memcpy(to, from, static_cast<std::size_t>(at));
  for (; at + line_bytes <= length; at += line_bytes) {
    const auto* source = reinterpret_cast<const __m128i*>(from + at);
    auto* target = reinterpret_cast<__m128i*>(to + at);
    const auto a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const auto c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    store(target, a);
    store(target + 1, b);
    store(target + 2, c);
    store(target + 3, d);
  }
  if (at < length) std::memcpy(to + at, from + at, static_cast<std::size_t>(length - at));
}

}  // namespace choir
#endif
