// signature.hpp: one 64-bit number for the shape of a collective call.
//
// Pure. Every rank mixes the fields of its own request, in a fixed order, and the ranks' numbers
// are then added: addition does not care in which order ranks arrive, and thanks to the last
// avalanche the sum of many numbers is as well spread as one. Unlike an exclusive or, equal
// requests of two ranks do not cancel.
#pragma once

#include <cstdint>

namespace choir::select {

/// Spreads every bit of `x` over the whole word (the finaliser of splitmix64).
constexpr std::uint64_t avalanche(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The relative offset of the Orthrus paper: the mean gap between neighbouring requests of one
/// call, in bytes. It stays the same when a loop moves the whole pattern through the file.
/// `begin` is the first byte, `end` one past the last; requests do not overlap.
constexpr std::int64_t relative_offset(std::int64_t begin, std::int64_t end, std::int64_t bytes,
                                       std::int64_t requests) {
  return requests > 1 ? (end - begin - bytes) / (requests - 1) : 0;
}
static_assert(relative_offset(100, 100 + 4 * 8 + 3 * 24, 4 * 8, 4) == 24);

/// Mixes fields in order; the order matters, so `add(1).add(2)` differs from `add(2).add(1)`.
class Signature {
 public:
  constexpr Signature& add(std::int64_t field) {
    state_ = avalanche(state_ + 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(field)) * 3;
    return *this;
  }

  /// A number fit to be added to those of other ranks.
  constexpr std::uint64_t value() const { return avalanche(state_ ^ 0xa0761d6478bd642fULL); }

 private:
  std::uint64_t state_ = 0x8ebc6af09c88c6e3ULL;
};
static_assert(Signature().add(1).add(2).value() != Signature().add(2).add(1).value());
static_assert(Signature().add(0).value() != Signature().value());

/// The call's signature from the sum of the ranks' numbers.
constexpr std::uint64_t combined_signature(std::uint64_t sum_over_ranks, int ranks) {
  return avalanche(sum_over_ranks + static_cast<std::uint64_t>(ranks) * 0x9e3779b97f4a7c15ULL);
}

}  // namespace choir::select
