// assignment_refine.hpp: improves a one-owner assignment under the byte limit, step by step.
//
// Pure and deterministic, in bounded work. The byte limit makes the best assignment NP-hard to
// find, so that no matching gives it; moving and exchanging single files takes most of what is
// left.
#pragma once

#include <cstdint>
#include <vector>

#include "multi/assignment.hpp"
#include "multi/assignment_links.hpp"

namespace choir::multi {

/// Moves a file to another rank, or exchanges two files, as long as that is worth more and no rank
/// gets above the limit. `links` by rank, then file; every file with data has one owner.
Assignment refine_within_bytes(const RequestMatrix& requests, const std::vector<Link>& links,
                               std::int64_t limit, const Assignment& assignment);

/// What all pairs of the assignment are worth together.
std::int64_t total_worth(const Assignment& assignment, const std::vector<Link>& links);

}  // namespace choir::multi
