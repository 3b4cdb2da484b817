// hpio.cpp: regions with spacing, contiguous or not on either side.
//
// Source: Hpio (Ching et al., Northwestern), used in the Orthrus paper, section 3. A rank has
// region_count regions of region_size bytes (--piece); neighbours in the file are region_spacing
// bytes apart and belong to the ranks in turn, so that the file keeps holes. `pattern` names memory
// and file: c contiguous, nc noncontiguous.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto& pattern = scale.word("pattern", {"c-c", "c-nc", "nc-c", "nc-nc"});
  const bool memory_gaps = pattern.starts_with("nc");
  const bool file_gaps = pattern.ends_with("-nc");
  const auto pitch = scale.piece + scale.number("spacing");
  const auto regions = at_least_one(scale.bytes_per_rank, scale.piece);
  const auto length = static_cast<int>(scale.piece);
  Program program;
  Call call;
  call.count = 1;

  MPI_Datatype memory = MPI_DATATYPE_NULL;
  const auto memory_stride = memory_gaps ? pitch : scale.piece;
  check(
      MPI_Type_create_hvector(static_cast<int>(regions), length, memory_stride, MPI_BYTE, &memory));
  call.memory_type = program.keep(memory);
  call.memory = {{0, scale.piece, memory_stride, regions}};
  program.buffer_bytes = regions * memory_stride;

  if (file_gaps) {
    MPI_Datatype file = MPI_DATATYPE_NULL;
    check(MPI_Type_create_hvector(static_cast<int>(regions), length, pitch * scale.ranks, MPI_BYTE,
                                  &file));
    call.view = program.add_view({scale.rank * pitch, MPI_BYTE, program.keep(file)});
    call.file = {{scale.rank * pitch, scale.piece, pitch * scale.ranks, regions}};
  } else {
    const auto bytes = regions * scale.piece;
    call.view = program.add_view({scale.rank * bytes, MPI_BYTE, MPI_BYTE});
    call.file = {{scale.rank * bytes, bytes, bytes, 1}};
  }
  program.calls.push_back(std::move(call));
  return program;
}

}  // namespace

Workload hpio_workload() {
  return {"hpio",
          "regions of --piece bytes with spacing between them (holes)",
          512,
          {{"spacing", "128", "bytes between neighbouring regions"},
           {"pattern", "nc-nc", "memory-file: c-c, c-nc, nc-c or nc-nc"}},
          build};
}

}  // namespace choir::bench
