// matrix.cpp: columns of a row-major matrix.
//
// Source: the Matrix benchmark of the Orthrus paper, section 3.2. Columns are spread evenly over
// the ranks; a rank's part of a row is a block (--piece, 4 KB to 4096 KB in the paper), and each
// collective call accesses as many rows as the access depth says (4 to 128 in the paper).
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto depth = std::max<std::int64_t>(1, scale.number("depth"));
  const auto calls = at_least_one(scale.bytes_per_rank, scale.piece * depth);
  Program program;
  const auto view = add_interleaved_view(program, scale, scale.piece);
  for (std::int64_t i = 0; i < calls; ++i)
    program.add_packed_call(view, i * depth * scale.piece,
                            interleaved_pieces(scale, scale.piece, i * depth, depth));
  return program;
}

}  // namespace

Workload matrix_workload() {
  return {"matrix",
          "columns of a matrix: blocks of --piece bytes, `depth` rows a call",
          16384,
          {{"depth", "4", "rows of the matrix in one collective call"}},
          build};
}

}  // namespace choir::bench
