#include "access/block_copy.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>

#include "access/lines.hpp"

namespace choir {
namespace {

constexpr std::uintptr_t page = 4096;

/// Where `rep movsb` may be slow; how far behind that begins to be so is generously guessed, since
/// vectors are never slow.
bool begins_behind(const char* to, const char* from) {
  const auto distance =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % page;
  return distance > 0 && distance < page / 2;
}

void copy_vectors(char* to, const char* from, std::int64_t length) {
#ifdef __SSE2__
  copy_by_lines(to, from, length,
                [](__m128i* place, __m128i bytes) { _mm_store_si128(place, bytes); });
#else
  std::memcpy(to, from, static_cast<std::size_t>(length));
#endif
}

void copy_string(char* to, const char* from, std::int64_t length) {
#ifdef __x86_64__
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
#else
  std::memcpy(to, from, static_cast<std::size_t>(length));
#endif
}

/// Small enough for the first caches, where nothing but the copying itself is seen.
constexpr std::int64_t trial_bytes = 8 << 10;
constexpr int trials = 8, copies_a_trial = 4;

using Clock = std::chrono::steady_clock;

/// The least time of some trials: others only ever add to it.
Clock::duration time_of(CopyWay way, char* to, const char* from) {
  auto least = Clock::duration::max();
  for (int trial = 0; trial < trials; ++trial) {
    const auto began = Clock::now();
    for (int i = 0; i < copies_a_trial; ++i) {
      copy_block_by(way, to, from, trial_bytes);
      // A compiler that sees the same copy four times would make one.
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    least = std::min(least, Clock::now() - began);
  }
  return least;
}

CopyWay faster_way(char* to, const char* from) {
  using enum CopyWay;
  return time_of(string, to, from) <= time_of(vectors, to, from) ? string : vectors;
}

CopyWays measure_ways() {
  constexpr std::ptrdiff_t behind_malloc = 16;
  alignas(page) static std::array<char, trial_bytes + page> source, target;
  source.fill('s');  // else all its pages would be one page of zeros
  return {faster_way(target.data() + behind_malloc, source.data()),
          faster_way(target.data(), source.data())};
}

}  // namespace

const CopyWays& copy_ways() {
  static const CopyWays measured = measure_ways();
  return measured;
}

void copy_block_by(CopyWay way, char* to, const char* from, std::int64_t length) {
  way == CopyWay::string ? copy_string(to, from, length) : copy_vectors(to, from, length);
}

void copy_block(char* to, const char* from, std::int64_t length) {
  if (length < least_large_block) {
    std::memcpy(to, from, static_cast<std::size_t>(length));
    return;
  }
  const auto& ways = copy_ways();
  copy_block_by(begins_behind(to, from) ? ways.behind : ways.elsewhere, to, from, length);
}

}  // namespace choir
