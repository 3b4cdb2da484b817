// naive.hpp: what runs and layouts mean, byte by byte, and random ones to compare with.
//
// Everything the library does per run is done here per byte, so that the two can only agree if both
// are right.
#pragma once

#include <rapidcheck.h>

#include <numeric>

#include "access/layout.hpp"

namespace choir::naive {

/// The place of every byte, in stream order.
using Places = std::vector<std::int64_t>;

inline void expand(const Run& run, Places& out) {
  for (std::int64_t i = 0; i < run.count; ++i)
    for (std::int64_t b = 0; b < run.length; ++b) out.push_back(run.offset + i * run.stride + b);
}

inline Places expand(const Runs& runs) {
  Places out;
  for (const auto& run : runs) expand(run, out);
  return out;
}

/// Stream bytes [begin, end) of a layout.
inline Places expand(const Layout& layout, std::int64_t begin, std::int64_t end) {
  const auto tile = expand(layout.tile->runs());
  const auto size = static_cast<std::int64_t>(tile.size());
  Places out;
  for (auto p = begin; p < end; ++p)
    out.push_back(layout.origin + p / size * layout.tile->extent() +
                  tile[static_cast<std::size_t>(p % size)]);
  return out;
}

inline Places visited(const Layout& layout, std::int64_t begin, std::int64_t end) {
  Places out;
  visit_runs(layout, begin, end, [&](const Run& run) { expand(run, out); });
  return out;
}

/// From low to high - 1.
inline std::int64_t pick(std::int64_t low, std::int64_t high) {
  return *rc::gen::inRange(low, high);
}

/// Any run: in memory blocks may overlap, coincide and run backwards.
inline Run any_run() {
  Run run{pick(-40, 41), pick(1, 10), pick(-15, 16), pick(1, 6)};
  return run;
}

inline TilePtr any_tile() {
  Runs runs;
  for (auto n = pick(1, 5); n > 0; --n) append(runs, any_run());
  return std::make_shared<Tile>(std::move(runs), pick(-50, 51));
}

/// A tile whose bytes ascend, as in a file view; every number is a multiple of `unit`.
inline TilePtr ascending_tile(std::int64_t unit = 1) {
  Runs runs;
  auto at = pick(-20, 21);
  for (auto n = pick(1, 5); n > 0; --n) {
    const auto length = pick(1, 10);
    const Run run{at + pick(0, 10), length, length + pick(0, 8), pick(1, 6)};
    at = run.end();
    append(runs, {run.offset * unit, run.length * unit, run.stride * unit, run.count});
  }
  const auto span = Tile(runs, 0).span().size();
  return std::make_shared<Tile>(std::move(runs), span + unit * pick(0, 10));
}

}  // namespace choir::naive
