// assignment_matching.hpp: the assignment that keeps most bytes in place.
//
// Pure and deterministic; needs LEMON, so it is for tools and tests, not for the runtime library.
#pragma once

#include <cstdint>
#include <vector>

#include "multi/assignment.hpp"
#include "multi/assignment_links.hpp"

namespace choir::multi {

struct MatchingOptions {
  /// Largest number of links given to the solver, which bounds its time. A larger problem is
  /// solved with only the most valuable links of each file, and is never worse than greedy.
  std::int64_t max_links = 2'000'000;
};

/// Maximum-weight matching in which a rank has as many copies as it takes files, and file j F_j
/// copies. Of equally good assignments, higher ranks take lower files (small problems only).
///
/// Balance::bytes: the best of that (if it keeps byte_limit()), of the matching of ranks to the
/// bins of longest_first_bins() and of greedy, each refined; never worse than greedy. Throws
/// std::invalid_argument for an invalid problem.
Assignment assign_matching(const Problem& problem, const MatchingOptions& options = {});

/// The matching alone: owners of each file within the quotas.
std::vector<std::vector<int>> matching_pairs(const std::vector<Link>& links, const Quotas& quotas,
                                             int ranks, const MatchingOptions& options = {});

}  // namespace choir::multi
