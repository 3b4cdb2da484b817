// subarray4d.cpp: a four-dimensional lattice of 8-byte elements.
//
// Source: a lattice-QCD user's complaint about slow collective writes of 4-D subarrays. Every rank
// owns a block of the lattice; --piece is the length of its innermost row (304 bytes: 38 elements).
// The grid of ranks cuts the fastest dimensions first, which makes the rows short, unless
// split=outer.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const bool inner = scale.word("split", {"inner", "outer"}) == "inner";
  const auto row = static_cast<int>(at_least_one(scale.piece, 8));
  const auto edge = cube_edge(at_least_one(scale.bytes_per_rank, 8 * row), 3);
  const auto box =
      box_of_rank(scale.rank, process_grid(scale.ranks, 4, inner), {edge, edge, edge, row});
  Program program;
  const auto view = program.add_view({0, MPI_DOUBLE, program.keep(subarray_type(box, MPI_DOUBLE))});
  program.add_packed_call(view, 0, pieces_of_box(box, 8, 0));
  return program;
}

}  // namespace

Workload subarray4d_workload() {
  return {"subarray4d",
          "4-D subarray of 8-byte elements, rows of --piece bytes",
          304,
          {{"split", "inner", "which dimensions the ranks cut first: inner or outer"}},
          build};
}

}  // namespace choir::bench
