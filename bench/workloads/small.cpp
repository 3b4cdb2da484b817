// small.cpp: the cost of a collective call itself.
//
// Source: codes that write a few values per step. Each call accesses one contiguous --piece (4 KiB)
// per rank, the ranks side by side; the figure of interest is calls per second. With `places` the
// calls go round that many places, as a program that keeps its state in a file does.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto wanted = std::max<std::int64_t>(1, scale.number("calls"));
  const auto calls = std::min(wanted, at_least_one(scale.bytes_per_rank, scale.piece));
  const auto places = scale.number("places") > 0 ? scale.number("places") : calls;
  Program program;
  const auto view = program.add_view({});
  for (std::int64_t i = 0; i < calls; ++i) {
    const auto at = (i % places * scale.ranks + scale.rank) * scale.piece;
    program.add_packed_call(view, at, {{at, scale.piece, scale.piece, 1}});
  }
  return program;
}

}  // namespace

Workload small_workload() {
  return {"small",
          "collectives of --piece bytes per rank: calls per second",
          4096,
          {{"calls", "1000", "calls in one step, at most"},
           {"places", "0", "places the calls go round; 0: every call has its own"}},
          build};
}

}  // namespace choir::bench
