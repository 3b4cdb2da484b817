// cart.hpp: the special case: ranks in a known 2-D or 3-D grid, each with one tile of a dense
// array.
#pragma once

#include <string>
#include <vector>

#include "place/access_run.hpp"

namespace choir::place {

/// Ranks in row-major order; dimension 0 varies slowest, in the grid as in the file.
struct Cart {
  std::vector<int> dims;
  std::vector<int> tile;  ///< elements of one rank's tile, per dimension
  int element_bytes = 8;

  int ranks() const;
};

/// "16x8" or "16x8x4"; `tile` like it or empty for a default. Throws std::invalid_argument.
Cart parse_cart(const std::string& dims, const std::string& tile, int element_bytes);

/// What one collective call over the whole array asks for.
GatheredRuns runs_of(const Cart& cart);

/// The thesis's special matrix: entry of a pair of ranks; ranks with the same outermost coordinate
/// belong together and weigh as much as a row has ranks.
int special_entry(const Cart& cart, int a, int b);

/// Per rank, its outermost coordinate: the independent sets of the special matrix.
std::vector<int> special_sets(const Cart& cart);

}  // namespace choir::place
