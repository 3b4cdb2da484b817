// layout.hpp: where the bytes of a stream live: a tile of runs, repeated for ever.
//
// A file view is a tile laid end to end from a displacement; a user's buffer is a datatype laid end
// to end from an address. Both are a Layout, and a *stream position* counts the bytes in the order
// the program gives them. Positions are found at a cost per run of one tile, not per piece. Pure:
// no MPI.
#pragma once

#include <memory>

#include "access/run.hpp"

namespace choir {

/// One period of a layout. Immutable once made, and shared by everyone who uses the datatype.
class Tile {
 public:
  Tile(Runs runs, std::int64_t extent);

  const Runs& runs() const { return runs_; }
  std::int64_t bytes() const { return starts_.back(); }
  std::int64_t extent() const { return extent_; }
  /// Lowest and highest byte of the tile, relative to its origin.
  Extent span() const { return span_; }
  /// Stream position in the tile where run i starts.
  std::int64_t start(std::size_t i) const { return starts_[i]; }
  std::size_t run_at(std::int64_t position) const;

  /// Offsets never decrease along the stream of one tile.
  bool ascending_once() const { return ascending_; }
  /// Neither do they from one tile to the next.
  bool ascending() const { return ascending_ && span_.size() <= extent_; }
  /// The same with tiles so far apart that they do not overlap: good for one tile only.
  std::shared_ptr<const Tile> moved_apart() const;
  /// One block per tile: the whole repetition is one run.
  bool is_block() const { return runs_.size() == 1 && runs_[0].count == 1; }
  bool is_contiguous() const { return contiguous_; }
  /// Largest power of two (at most 4096) that divides every offset, length and stride of the
  /// repetition.
  std::int64_t grain() const { return grain_; }
  /// Pieces in one tile, for statistics.
  std::int64_t pieces() const { return pieces_; }
  /// Equal tiles have equal hashes.
  std::uint64_t hash() const { return hash_; }

 private:
  Runs runs_;
  std::vector<std::int64_t> starts_;
  std::int64_t extent_;
  Extent span_;
  bool ascending_ = true;
  bool contiguous_ = false;
  std::int64_t grain_ = 4096;
  std::int64_t pieces_ = 0;
  std::uint64_t hash_ = 0;
};

using TilePtr = std::shared_ptr<const Tile>;

/// A tile of one byte after the other, for ever.
TilePtr contiguous_tile();

struct Layout {
  TilePtr tile;
  std::int64_t origin = 0;

  /// File offset or address of a stream position.
  std::int64_t offset_of(std::int64_t position) const;
  /// Stream bytes that lie below `offset`. Only for ascending tiles.
  std::int64_t position_of(std::int64_t offset) const;
};

/// Visits the stream bytes [begin, end) as runs, in stream order.
template <class Visit>
void visit_runs(const Layout& layout, std::int64_t begin, std::int64_t end, Visit&& visit) {
  if (begin >= end) return;
  const Tile& tile = *layout.tile;
  if (tile.is_contiguous()) {
    visit(Run{layout.origin + tile.runs()[0].offset + begin, end - begin, 0, 1});
    return;
  }
  if (tile.is_block()) {
    const auto& block = tile.runs()[0];
    const auto blocks = (end - 1) / block.length + 1;
    visit_part(Run{layout.origin + block.offset, block.length, tile.extent(), blocks}, begin, end,
               visit);
    return;
  }
  std::int64_t number = begin / tile.bytes();
  std::int64_t base = number * tile.bytes();
  std::size_t i = tile.run_at(begin - base);
  while (begin < end) {
    auto run = tile.runs()[i];
    run.offset += layout.origin + number * tile.extent();
    const auto start = base + tile.start(i);
    const auto stop = std::min(end, start + run.bytes());
    visit_part(run, begin - start, stop - start, visit);
    begin = stop;
    if (++i == tile.runs().size()) {
      i = 0;
      ++number;
      base += tile.bytes();
    }
  }
}

/// What one rank asks of a file in one call: stream bytes [begin, end) of an ascending layout.
struct Access {
  Layout file;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t bytes() const { return end - begin; }
  /// First byte to one past the last; empty at 0 if nothing is asked.
  Extent span() const;
  /// The stream bytes that fall into `range`, as stream positions.
  Extent clip(Extent range) const;
  std::int64_t pieces() const;
  std::int64_t grain() const { return grain(span()); }
  /// The same for who knows the span already.
  std::int64_t grain(Extent span) const;
  /// The pattern without its place: equal for calls that differ in a shift of the file offset only.
  std::uint64_t relative_hash() const;
};

/// The grain of an access that is one block.
std::int64_t block_grain(Extent span);

}  // namespace choir
