// shape.hpp: roughly where a rank's bytes lie in its span, in 24 bytes that everybody knows.
//
// A shape covers every byte its rank asks for, and maybe more. Who meets which window is decided by
// shapes on both sides of a message, so nobody sends to, or waits for, a window that a shape leaves
// out: a vector's rank speaks to the windows its blocks fall into, not to all between its first and
// its last byte. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "access/layout.hpp"

namespace choir {

struct Shape {
  enum class Kind : std::uint8_t {
    span,      ///< every byte from the first to the last
    periodic,  ///< blocks of one length, one stride apart
    cells,     ///< the span cut into equal cells, of which some are empty
  };
  static constexpr int most_cells = 192;

  Kind kind = Kind::span;
  std::array<std::uint64_t, 3> words{};  ///< stride, length, skipped; or a bit per cell

  static Shape periodic(std::int64_t stride, std::int64_t length, std::int64_t skipped) {
    return {Kind::periodic,
            {static_cast<std::uint64_t>(stride), static_cast<std::uint64_t>(length),
             static_cast<std::uint64_t>(skipped)}};
  }
  std::int64_t stride() const { return static_cast<std::int64_t>(words[0]); }
  std::int64_t length() const { return static_cast<std::int64_t>(words[1]); }
  /// Bytes of the first block that lie before the span.
  std::int64_t skipped() const { return static_cast<std::int64_t>(words[2]); }
  bool cell(int i) const {
    return (words[static_cast<std::size_t>(i) / 64] >> (static_cast<unsigned>(i) % 64) & 1U) != 0;
  }
  void set_cell(int i) {
    words[static_cast<std::size_t>(i) / 64] |= std::uint64_t{1} << (static_cast<unsigned>(i) % 64);
  }
  bool operator==(const Shape&) const = default;
};

/// A tight shape of what a rank asks for: one stride where the pattern has one, else cells. Costs a
/// look at the runs of a tile, or a few hundred searches.
Shape shape_of(const Access& access);

/// What a shape covers of `span` from offset `from` on: its next stretch; empty if there is none.
Extent next_stretch(const Shape& shape, Extent span, std::int64_t from);

/// The first offset from `from` on that both the shape and the blocks of `domain` cover; -1: none.
std::int64_t first_common(const Shape& shape, Extent span, const Run& domain, std::int64_t from);

/// The smallest i >= 0 with (step * i + start) mod period <= most; -1: none. All are less than
/// `period` and not negative.
std::int64_t first_in_residues(std::int64_t step, std::int64_t start, std::int64_t period,
                               std::int64_t most);

}  // namespace choir
