// flash.cpp: the checkpoint and plot files of FLASH-IO.
//
// Source: FLASH-IO (Zingale); the Orthrus paper, section 3.4, and the thesis, section 5.4.2. A
// checkpoint has 24 double variables, a plot file 4 single-precision ones (centered: nxb^3 values a
// block, corner: (nxb+1)^3). A variable is one array over all blocks of all ranks, so each rank
// writes one slab per variable, one collective call each. Configuration A: 1500 blocks a rank, nxb
// = 1 (slabs of about 10 KB); B: 600 blocks, nxb = 8 (about 2 MB); `scaled` takes as many blocks of
// nxb = 8 as fill --bytes-per-rank.
#include "shapes.hpp"

namespace choir::bench {

namespace {

struct Mesh {
  std::int64_t blocks;  // per rank
  std::int64_t edge;    // nxb = nyb = nzb
};

Mesh mesh_of(const Scale& scale, std::int64_t variables) {
  const auto& configuration = scale.word("configuration", {"A", "B", "scaled"});
  if (configuration == "A") return {1500, 1};
  if (configuration == "B") return {600, 8};
  return {at_least_one(scale.bytes_per_rank, variables * 8 * 8 * 8 * 8), 8};
}

Program build(const Scale& scale) {
  const auto& file = scale.word("file", {"chk", "plt_cnt", "plt_crn"});
  const bool checkpoint = file == "chk";
  const auto asked = scale.number("variables");
  const auto variables = asked != 0 ? asked : checkpoint ? 24 : 4;
  const auto mesh = mesh_of(scale, variables);
  const auto edge = mesh.edge + (file == "plt_crn" ? 1 : 0);
  const auto value_bytes = checkpoint ? 8 : 4;
  const auto slab = mesh.blocks * edge * edge * edge * value_bytes;

  Program program;
  const auto view = program.add_view({});
  for (std::int64_t v = 0; v < variables; ++v) {
    const auto at = (v * scale.ranks + scale.rank) * slab;
    program.add_packed_call(view, at, {{at, slab, slab, 1}});
  }
  return program;
}

}  // namespace

Workload flash_workload() {
  return {"flash",
          "FLASH-IO: one slab per rank and variable, one call per variable",
          0,
          {{"file", "chk", "chk (checkpoint), plt_cnt (plot, centered) or plt_crn (plot, corner)"},
           {"configuration", "scaled", "A, B (of the Orthrus paper) or scaled by --bytes-per-rank"},
           {"variables", "0", "number of variables; 0: 24, plots 4"}},
          build};
}

}  // namespace choir::bench
