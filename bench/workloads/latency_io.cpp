// latency_io.cpp: max_size bytes a call, in segments.
//
// Source: latency-io (the collective-write-algorithms paper, section 3). Each call accesses
// max_size bytes per rank; a rank owns segments of segment_size (--piece) in turn: with max_size 8,
// segment_size 2 and four ranks, rank 0 has bytes 0-1, 8-9, 16-17 and 24-25. Calls repeat until
// --bytes-per-rank are accessed (1 GB in calls of 20 MB in the paper).
#include "shapes.hpp"

namespace choir::bench {

namespace {

Program build(const Scale& scale) {
  const auto asked = scale.number("max_size");
  const auto max_size = asked != 0 ? asked : std::max(scale.piece, scale.bytes_per_rank / 4);
  const auto segments = at_least_one(max_size, scale.piece);
  const auto calls = at_least_one(scale.bytes_per_rank, segments * scale.piece);
  Program program;
  const auto view = add_interleaved_view(program, scale, scale.piece);
  for (std::int64_t i = 0; i < calls; ++i)
    program.add_packed_call(view, i * segments * scale.piece,
                            interleaved_pieces(scale, scale.piece, i * segments, segments));
  return program;
}

}  // namespace

Workload latency_io_workload() {
  return {"latency-io",
          "max_size bytes a call in segments of --piece bytes",
          65536,
          {{"max_size", "0", "bytes per rank in one call; 0: a quarter of --bytes-per-rank"}},
          build};
}

}  // namespace choir::bench
