// irregular.cpp: many short pieces of random length and random owner.
//
// Source: E3SM-like decompositions (PIO's unstructured grids). The file is a row of pieces whose
// lengths are uniform around the mean (--piece; 512 bytes or 8 KiB in the standard table); each
// piece belongs to a random rank, and some to nobody, which leaves holes. Every rank derives the
// same row from --seed.
#include <random>

#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto holes = scale.number("holes");
  if (holes > 90) throw Unsuitable("parameter holes: at most 90 percent");
  std::mt19937_64 random(scale.seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  std::vector<int> lengths;
  std::vector<MPI_Aint> displacements;
  Pieces pieces;
  const auto total = scale.bytes_per_rank * scale.ranks;
  std::int64_t at = 0;
  for (std::int64_t placed = 0; placed < total;) {
    const auto length = 1 + below(2 * scale.piece - 1);
    if (below(100) >= holes) {
      if (below(scale.ranks) == scale.rank) {
        lengths.push_back(static_cast<int>(length));
        displacements.push_back(at);
        pieces.push_back({at, length, length, 1});
      }
      placed += length;
    }
    at += length;
  }
  Program program;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                                 displacements.data(), MPI_BYTE, &type));
  const auto view =
      program.add_view({0, MPI_BYTE, lengths.empty() ? MPI_BYTE : program.keep(type)});
  if (lengths.empty()) check(MPI_Type_free(&type));
  program.add_packed_call(view, 0, std::move(pieces));
  return program;
}

}  // namespace

Workload irregular_workload() {
  return {"irregular",
          "random lengths around --piece, random owner, some holes",
          512,
          {{"holes", "5", "percent of the pieces that belong to nobody"}},
          build};
}

}  // namespace choir::bench
