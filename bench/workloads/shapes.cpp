// shapes.cpp: see shapes.hpp.
#include "shapes.hpp"

#include <algorithm>
#include <numeric>

namespace choir::bench {

std::int64_t Box::elements() const {
  return std::accumulate(local.begin(), local.end(), std::int64_t{1},
                         [](std::int64_t product, int edge) { return product * edge; });
}

std::vector<int> process_grid(int ranks, int dimensions, bool inner) {
  std::vector<int> grid(static_cast<std::size_t>(dimensions), 0);
  check(MPI_Dims_create(ranks, dimensions, grid.data()));  // largest first
  if (inner) std::reverse(grid.begin(), grid.end());
  return grid;
}

Box box_of_rank(int rank, const std::vector<int>& grid, const std::vector<int>& local) {
  Box box{local, local, local};
  for (std::size_t d = grid.size(); d-- > 0;) {
    box.global[d] = grid[d] * local[d];
    box.start[d] = rank % grid[d] * local[d];
    rank /= grid[d];
  }
  return box;
}

Pieces pieces_of_box(const Box& box, std::int64_t element_bytes, std::int64_t base) {
  const std::size_t dimensions = box.local.size();
  if (box.elements() == 0) return {};
  std::vector<std::int64_t> pitch(dimensions, element_bytes);  // bytes from one index to the next
  for (std::size_t d = dimensions - 1; d-- > 0;) pitch[d] = pitch[d + 1] * box.global[d + 1];
  const auto rows = dimensions > 1 ? box.local[dimensions - 2] : 1;
  const auto row_pitch = dimensions > 1 ? pitch[dimensions - 2] : 0;
  const auto row_bytes = box.local[dimensions - 1] * element_bytes;

  Pieces pieces;
  std::vector<int> index(dimensions, 0);  // of the planes: the last two dimensions stay 0
  for (;;) {
    std::int64_t offset = base;
    for (std::size_t d = 0; d < dimensions; ++d) offset += (box.start[d] + index[d]) * pitch[d];
    pieces.push_back({offset, row_bytes, row_pitch, rows});
    std::size_t d = dimensions > 2 ? dimensions - 2 : 0;
    while (d-- > 0) {
      if (++index[d] < box.local[d]) break;
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return pieces;
  }
}

MPI_Datatype subarray_type(const Box& box, MPI_Datatype element) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_create_subarray(static_cast<int>(box.local.size()), box.global.data(),
                                 box.local.data(), box.start.data(), MPI_ORDER_C, element, &type));
  return type;
}

std::size_t add_interleaved_view(Program& program, const Scale& scale, std::int64_t block) {
  MPI_Datatype contiguous = MPI_DATATYPE_NULL;
  MPI_Datatype tile = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, &contiguous));
  check(MPI_Type_create_resized(contiguous, 0, block * scale.ranks, &tile));
  check(MPI_Type_free(&contiguous));
  return program.add_view({scale.rank * block, MPI_BYTE, program.keep(tile)});
}

Pieces interleaved_pieces(const Scale& scale, std::int64_t block, std::int64_t first,
                          std::int64_t blocks) {
  const auto stride = block * scale.ranks;
  return {{scale.rank * block + first * stride, block, stride, blocks}};
}

int cube_edge(std::int64_t elements, int dimensions) {
  const auto fits = [&](std::int64_t edge) {
    std::int64_t volume = 1;
    for (int d = 0; d < dimensions; ++d) {
      if (volume > elements / edge) return false;
      volume *= edge;
    }
    return volume <= elements;
  };
  int edge = 1;
  while (fits(edge + 1)) ++edge;
  return edge;
}

}  // namespace choir::bench
