// segments.cpp: one contiguous block of --piece bytes per rank and call.
//
// Source: IOR. In `segments` each rank has a part of the file of its own, in which its calls follow
// one another (segmented); in `interleaved` the ranks' blocks of one call lie side by side
// (strided). A single call of both differs only in how far the ranks are apart.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program one_block(const Scale& scale, std::int64_t at) {
  Program program;
  const auto view = program.add_view({});
  program.add_packed_call(view, at, {{at, scale.piece, scale.piece, 1}});
  return program;
}

Program build_segments(const Scale& scale) {
  const auto blocks = std::max<std::int64_t>(1, scale.number("blocks"));
  auto program = one_block(scale, scale.rank * blocks * scale.piece);
  program.step_bytes = scale.piece;
  return program;
}

Program build_interleaved(const Scale& scale) { return one_block(scale, scale.rank * scale.piece); }

}  // namespace

Workload segments_workload() {
  return {"segments",
          "a block of --piece bytes per rank, each in a part of the file of its own (IOR)",
          1 << 20,
          {{"blocks", "20", "blocks for which a rank's part of the file has room"}},
          build_segments};
}

Workload interleaved_workload() {
  return {"interleaved",
          "a block of --piece bytes per rank, side by side (IOR, strided)",
          64 << 10,
          {},
          build_interleaved};
}

}  // namespace choir::bench
