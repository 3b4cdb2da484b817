// shapes.hpp: what several workloads share: blocks of arrays and regular interleaving.
#pragma once

#include <cstdint>
#include <vector>

#include "workload.hpp"

namespace choir::bench {

/// One rank's box in a global array in C order (last dimension fastest); sizes in elements.
struct Box {
  std::vector<int> global;
  std::vector<int> local;
  std::vector<int> start;

  std::int64_t elements() const;
};

/// Splits `ranks` over `dimensions` as MPI_Dims_create does; the larger factors come last (fastest)
/// when `inner`.
std::vector<int> process_grid(int ranks, int dimensions, bool inner);

/// The rank's box when every rank owns `local` elements per dimension in a row-major grid of ranks.
Box box_of_rank(int rank, const std::vector<int>& grid, const std::vector<int>& local);

/// The bytes of the box, row by row, the array starting at `base`.
Pieces pieces_of_box(const Box& box, std::int64_t element_bytes, std::int64_t base);

/// MPI_Type_create_subarray of the box; not committed.
MPI_Datatype subarray_type(const Box& box, MPI_Datatype element);

/// Blocks of `block` bytes, one per rank in turn: rank r's k-th block is number k * ranks + r of
/// the file. The view holds one block a tile, so an offset in bytes counts the rank's own bytes.
/// Returns the index of the view.
std::size_t add_interleaved_view(Program& program, const Scale& scale, std::int64_t block);

/// Where `blocks` of them, from the rank's `first` on, lie in the file.
Pieces interleaved_pieces(const Scale& scale, std::int64_t block, std::int64_t first,
                          std::int64_t blocks);

/// bytes / unit, at least 1.
inline std::int64_t at_least_one(std::int64_t bytes, std::int64_t unit) {
  return std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, unit));
}

/// The edge of the largest cube of `dimensions` whose elements fit, at least 1.
int cube_edge(std::int64_t elements, int dimensions);

}  // namespace choir::bench
