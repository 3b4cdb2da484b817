// astro3d.cpp: six variables of one file.
//
// Source: astro3d (the multi-collective I/O paper, section 6.3): a three-dimensional astrophysics
// code that accesses six single-precision variables of a single file with six collective calls.
// Each variable is distributed (BLOCK, BLOCK, BLOCK), described by an MPI_Type_create_darray.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto variables = std::max<std::int64_t>(1, scale.number("variables"));
  const auto edge = cube_edge(at_least_one(scale.bytes_per_rank, 4 * variables), 3);
  const auto grid = process_grid(scale.ranks, 3, true);
  const auto box = box_of_rank(scale.rank, grid, {edge, edge, edge});
  const std::vector<int> block(3, MPI_DISTRIBUTE_BLOCK);
  const std::vector<int> standard(3, MPI_DISTRIBUTE_DFLT_DARG);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_create_darray(scale.ranks, scale.rank, 3, box.global.data(), block.data(),
                               standard.data(), grid.data(), MPI_ORDER_C, MPI_FLOAT, &type));
  Program program;
  type = program.keep(type);
  const auto variable_bytes = box.elements() * 4 * scale.ranks;
  for (std::int64_t v = 0; v < variables; ++v) {
    const auto view = program.add_view({v * variable_bytes, MPI_FLOAT, type});
    program.add_packed_call(view, 0, pieces_of_box(box, 4, v * variable_bytes));
  }
  return program;
}

}  // namespace

Workload astro3d_workload() {
  return {"astro3d",
          "six 3-D variables of floats in one file, block distributed, a call each",
          0,
          {{"variables", "6", "number of variables"}},
          build};
}

}  // namespace choir::bench
