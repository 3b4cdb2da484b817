// assignment_greedy.hpp: the paper's Figure 5, fast enough to run inside every collective call.
//
// Pure and deterministic. O(e log e) for e nonzero requests.
#pragma once

#include <vector>

#include "multi/assignment.hpp"
#include "multi/assignment_links.hpp"

namespace choir::multi {

/// Pairs by descending worth; of equal ones the lowest rank, then the lowest file, goes first.
/// Ranks that nothing is left for take the remaining files in ascending order.
///
/// Balance::bytes: a rank takes a file only within byte_limit(). Where that cannot be completed,
/// the bins of longest_first_bins() are given to ranks instead, again by descending worth.
/// Throws std::invalid_argument for an invalid problem.
Assignment assign_greedy(const Problem& problem);

/// The matching alone: owners of each file within the quotas.
std::vector<std::vector<int>> greedy_pairs(std::vector<Link> links, const Quotas& quotas,
                                           int ranks);

}  // namespace choir::multi
