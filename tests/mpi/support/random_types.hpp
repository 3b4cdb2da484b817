// random_types.hpp: random datatypes that are legal where they are used.
#pragma once

#include "rng.hpp"
#include "types.hpp"

namespace choir::test {

struct LayoutRules {
  bool monotone = true;       // ascending displacements, as a file view needs
  std::int64_t grain = 1;     // gaps are multiples of this many bytes
  std::int64_t pieces = 200;  // upper bound of basic elements
};

/// Nested constructors around `leaf`. Copies of the result, one extent apart, never overlap.
Type random_layout(Rng& rng, const Type& leaf, const LayoutRules& rules, int depth);

/// A memory type over elements of `basic_bytes`: any order, gaps, negative lower bounds, resized.
/// With `mixed`, structures of different basic types appear too. With `tame`, ascending and from 0
/// on.
Type random_memory_type(Rng& rng, int basic_bytes, bool mixed, bool tame);

/// What one rank passes to MPI_File_set_view.
struct ViewTypes {
  std::int64_t displacement;
  Type etype;
  Type filetype;
  bool dormant;  // the rank has no byte of its own: it may only ask for 0 bytes
};

/// Views of `ranks` ranks of which no two contain the same byte.
std::vector<ViewTypes> exclusive_views(Rng& rng, int ranks, int basic_bytes);
/// The same, but within what the host's own libraries handle without error.
std::vector<ViewTypes> tame_views(Rng& rng, int ranks, int basic_bytes);
/// Views that may contain the same bytes, for reading.
std::vector<ViewTypes> overlapping_views(Rng& rng, int ranks, int basic_bytes);

}  // namespace choir::test
