// empty.cpp: ranks that have nothing to say.
//
// Source: adaptive codes whose data live on some ranks only. One rank in `every` takes part with an
// interleaved pattern of --piece bytes (all of the job's bytes between them), the others make the
// call with zero bytes.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto every = std::max<std::int64_t>(1, scale.number("every"));
  const auto active = static_cast<int>((scale.ranks + every - 1) / every);
  const bool takes_part = scale.rank % every == 0;
  Scale among = scale;  // as if only the active ranks were there
  among.ranks = active;
  among.rank = static_cast<int>(scale.rank / every);
  Program program;
  const auto view =
      takes_part ? add_interleaved_view(program, among, scale.piece) : program.add_view({});
  const auto blocks = at_least_one(scale.bytes_per_rank, scale.piece);
  program.add_packed_call(
      view, 0, takes_part ? interleaved_pieces(among, scale.piece, 0, blocks) : Pieces{});
  return program;
}

}  // namespace

Workload empty_workload() {
  return {"empty",
          "only one rank in `every` has data, in pieces of --piece bytes",
          4096,
          {{"every", "2", "one rank in this many has data"}},
          build};
}

}  // namespace choir::bench
