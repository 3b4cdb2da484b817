// locality.hpp: aggregators near the bytes they will aggregate.
//
// Pure. A rank's bytes are taken as spread evenly over its span, as cut_by_bytes does: that is all
// that ranks tell each other.
#pragma once

#include "plan/plan.hpp"

namespace choir {

/// Aggregators for the ranges between `cuts`, a permutation of `candidates` (one per range). Keeps
/// the order given unless another lets clearly more bytes stay on their node; then each range goes
/// to the node that has most of it, as long as that node has candidates.
std::vector<int> near_data(const PlanInput& in, std::span<const std::int64_t> cuts,
                           std::vector<int> candidates);

/// Members of a group in the order in which they should write for it: those of the node that has
/// most of the group's bytes first; of equal nodes the one with fewest aggregators so far
/// (`taken`, per node); members of one node in their order.
std::vector<int> writers_near_data(const PlanInput& in, std::span<const int> group,
                                   std::span<const int> taken);

}  // namespace choir
