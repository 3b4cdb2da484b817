// tile.cpp: a dense two-dimensional data set cut into tiles.
//
// Source: MPI Tile I/O (the scalable-collective-I/O thesis, section 3.2.1): elements of 1 KB (tiles
// of 768 x 800) or 1 MB (40 x 15), one tile per rank, ranks in a two-dimensional grid.
// --bytes-per-rank shortens the tiles and keeps their width, and narrows them only where one row
// would already be too much. `rows` is the same by the length of a tile's row. `permute` is the
// thesis's modified Tile I/O (section 3.2.2): ranks hold the tiles in a shuffled order.
#include <numeric>
#include <random>

#include "shapes.hpp"

namespace choir::bench {

namespace {

/// Which tile a rank holds; equal on all ranks for an equal seed. Seed 0: its own.
int tile_of_rank(const Scale& scale, std::int64_t seed) {
  if (seed == 0) return scale.rank;
  std::vector<int> tile(static_cast<std::size_t>(scale.ranks));
  std::iota(tile.begin(), tile.end(), 0);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  for (std::size_t i = tile.size(); i > 1; --i) std::swap(tile[i - 1], tile[random() % i]);
  return tile[static_cast<std::size_t>(scale.rank)];
}

Program build_tiles(const Scale& scale, int tile, int width, int height,
                    std::int64_t element_bytes) {
  const auto grid = process_grid(scale.ranks, 2, false);
  const auto box = box_of_rank(tile, grid, {height, width});
  Program program;
  MPI_Datatype element = MPI_BYTE;
  if (element_bytes > 1) {
    check(MPI_Type_contiguous(static_cast<int>(element_bytes), MPI_BYTE, &element));
    element = program.keep(element);
  }
  const auto view = program.add_view({0, element, program.keep(subarray_type(box, element))});
  program.add_packed_call(view, 0, pieces_of_box(box, element_bytes, 0));
  return program;
}

Program build_elements(const Scale& scale) {
  const auto element = scale.piece;
  const auto fit = at_least_one(scale.bytes_per_rank, element);
  const auto width_wanted = scale.number("width") != 0 ? scale.number("width")
                            : element >= (1 << 20)     ? 40
                                                       : 768;
  const auto height_limit = scale.number("height") != 0 ? scale.number("height")
                            : element >= (1 << 20)      ? 15
                                                        : 800;
  const auto width = std::min(width_wanted, fit);
  const auto height = std::min(height_limit, at_least_one(fit, width));
  return build_tiles(scale, tile_of_rank(scale, scale.number("permute")), static_cast<int>(width),
                     static_cast<int>(height), element);
}

Program build_rows(const Scale& scale) {
  return build_tiles(scale, scale.rank, static_cast<int>(scale.piece),
                     static_cast<int>(at_least_one(scale.bytes_per_rank, scale.piece)), 1);
}

}  // namespace

Workload tile_workload() {
  return {"tile",
          "MPI Tile I/O with elements of --piece bytes (1K or 1M)",
          1024,
          {{"width", "0", "elements across a tile; 0: 768, or 40 for elements of 1 MB"},
           {"height", "0", "elements down a tile; 0: as many as fit, up to 800 (15)"},
           {"permute", "0", "seed of a shuffle of the tiles over the ranks; 0: in rank order"}},
          build_elements};
}

Workload rows_workload() {
  return {"rows", "two-dimensional tiles whose rows are --piece bytes", 1024, {}, build_rows};
}

}  // namespace choir::bench
