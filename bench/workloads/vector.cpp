// vector.cpp: the vector pattern, in bytes and as Argonne's Noncontig has it.
//
// Source: Noncontig (Latham and Ross; the Orthrus paper, section 3.3). The file is dealt out in
// chunks, one per rank in turn; one collective call accesses all chunks of a rank through a single
// MPI_Type_vector, from contiguous memory. Noncontig's elmtcount is the piece in ints, its veclen
// the number of chunks.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale, MPI_Datatype element, int element_bytes) {
  if (scale.piece < element_bytes || scale.piece % element_bytes != 0)
    throw Unsuitable("--piece must be a positive multiple of " + std::to_string(element_bytes));
  if (scale.piece / element_bytes * scale.ranks > 0x7fffffff)
    throw Unsuitable("--piece times the ranks is more than a vector's stride can say");
  const auto chunks = at_least_one(scale.bytes_per_rank, scale.piece);
  const auto block = static_cast<int>(scale.piece / element_bytes);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_vector(static_cast<int>(chunks), block, block * scale.ranks, element, &type));
  Program program;
  const auto view = program.add_view({scale.rank * scale.piece, element, program.keep(type)});
  program.add_packed_call(view, 0, interleaved_pieces(scale, scale.piece, 0, chunks));
  return program;
}

Program build_bytes(const Scale& scale) { return build(scale, MPI_BYTE, 1); }
Program build_ints(const Scale& scale) { return build(scale, MPI_INT, sizeof(int)); }

}  // namespace

Workload vector_workload() {
  return {"vector",
          "chunks of --piece bytes dealt out in turn, one MPI_Type_vector",
          64,
          {},
          build_bytes};
}

Workload noncontig_workload() {
  return {"noncontig",
          "the same of MPI_INT, as Argonne's Noncontig (elmtcount = piece / 4)",
          64,
          {},
          build_ints};
}

}  // namespace choir::bench
