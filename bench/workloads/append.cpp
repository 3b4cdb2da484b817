// append.cpp: many small calls with the same relative pattern.
//
// Source: time-step loops that append records; what makes plans worth keeping. Every call accesses
// the same interleaved pattern of --piece bytes, further on in the file each time, under one view.
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto pieces = std::max<std::int64_t>(1, scale.number("pieces"));
  const auto calls = at_least_one(scale.bytes_per_rank, pieces * scale.piece);
  Program program;
  const auto view = add_interleaved_view(program, scale, scale.piece);
  for (std::int64_t i = 0; i < calls; ++i)
    program.add_packed_call(view, i * pieces * scale.piece,
                            interleaved_pieces(scale, scale.piece, i * pieces, pieces));
  return program;
}

}  // namespace

Workload append_workload() {
  return {"append",
          "a loop of calls with the same relative pattern of --piece bytes",
          1024,
          {{"pieces", "256", "pieces per rank in one call"}},
          build};
}

}  // namespace choir::bench
