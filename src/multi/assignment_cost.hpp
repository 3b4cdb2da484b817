// assignment_cost.hpp: what an assignment costs, in the paper's model and with a topology.
//
// Pure. The owners of a file share its bytes evenly. Rank i does IO_i bytes of I/O and moves comm_i
// bytes to and from others: the sum over files of |r[i][j] - a[i][j]|, where a[i][j] is its share.
// A byte that stays inside a node counts as intra_node_cost bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "multi/assignment.hpp"

namespace choir::multi {

struct RankCost {
  int files = 0;              ///< files it owns, alone or with others
  std::int64_t io_bytes = 0;  ///< IO_i
  double moved_bytes = 0;     ///< comm_i
  double time = 0;            ///< alpha x IO_i + beta x comm_i
};

struct Cost {
  std::vector<RankCost> ranks;
  std::int64_t max_io_bytes = 0;
  double communication = 0;  ///< all bytes moved, each counted once: the objective of section 4.3
  double response = 0;       ///< the slowest rank's time: the objective of section 4.1
};

/// Throws std::invalid_argument if a file with data has no owner, or an owner is no rank or twice
/// there.
Cost evaluate(const Problem& problem, const Assignment& assignment);

}  // namespace choir::multi
