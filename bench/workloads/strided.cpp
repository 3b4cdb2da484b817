// strided.cpp: strided in memory and in the file at once.
//
// Source: Noncontig's noncontiguous-noncontiguous mode. Chunks are dealt out in turn as in
// `vector`, and in memory each chunk is followed by a gap, as when one component of an array of
// structures is written.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto gap = scale.number("gap") == 0 ? scale.piece : scale.number("gap");
  const auto chunks = at_least_one(scale.bytes_per_rank, scale.piece);
  Program program;
  MPI_Datatype file = MPI_DATATYPE_NULL;
  MPI_Datatype memory = MPI_DATATYPE_NULL;
  const auto piece = static_cast<int>(scale.piece);
  check(MPI_Type_create_hvector(static_cast<int>(chunks), piece, scale.piece * scale.ranks,
                                MPI_BYTE, &file));
  check(MPI_Type_create_hvector(static_cast<int>(chunks), piece, scale.piece + gap, MPI_BYTE,
                                &memory));

  Call call;
  call.view = program.add_view({scale.rank * scale.piece, MPI_BYTE, program.keep(file)});
  call.memory_type = program.keep(memory);
  call.count = 1;
  call.file = interleaved_pieces(scale, scale.piece, 0, chunks);
  call.memory = {{0, scale.piece, scale.piece + gap, chunks}};
  program.buffer_bytes = chunks * (scale.piece + gap);
  program.calls.push_back(std::move(call));
  return program;
}

}  // namespace

Workload strided_workload() {
  return {"strided",
          "chunks of --piece bytes, strided in memory and in the file",
          64,
          {{"gap", "0", "bytes between chunks in memory; 0: as large as the piece"}},
          build};
}

}  // namespace choir::bench
