// everyone4k.cpp: 4-KiB segments of everyone to everyone.
//
// Source: an Aurora user's complaint. Every rank has segments in every part of the file, so each
// aggregator gets data from every rank in every cycle; the order of the ranks rotates from row to
// row, so no single stride describes a rank.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto segments = at_least_one(scale.bytes_per_rank, scale.piece);
  std::vector<MPI_Aint> displacements;
  Pieces pieces;
  for (std::int64_t k = 0; k < segments; ++k) {
    const auto at = (k * scale.ranks + (scale.rank + k) % scale.ranks) * scale.piece;
    displacements.push_back(at);
    pieces.push_back({at, scale.piece, scale.piece, 1});
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_create_hindexed_block(static_cast<int>(segments), static_cast<int>(scale.piece),
                                       displacements.data(), MPI_BYTE, &type));
  Program program;
  const auto view = program.add_view({0, MPI_BYTE, program.keep(type)});
  program.add_packed_call(view, 0, std::move(pieces));
  return program;
}

}  // namespace

Workload everyone4k_workload() {
  return {"everyone4k",
          "segments of --piece bytes of everyone to everyone, order rotating",
          4096,
          {},
          build};
}

}  // namespace choir::bench
