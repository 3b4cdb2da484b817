// assignment_exact.hpp: the optimal assignment by 0-1 integer programming (CBC).
//
// For study and small cases: time grows exponentially. CBC is optional at build.
#pragma once

#include "multi/assignment.hpp"

namespace choir::multi {

enum class Objective {
  communication,  ///< all bytes moved (section 4.3 and the appendix)
  response,       ///< the slowest rank's alpha x IO + beta x comm (section 4.1)
};

struct ExactOptions {
  Objective objective = Objective::communication;
  double time_limit_s = 10;
};

struct ExactResult {
  Assignment assignment;
  bool proven = false;  ///< false: the best that was found within the time limit
};

/// Pairs of ranks and files above which exact is refused.
inline constexpr std::int64_t max_exact_pairs = 20'000;

bool exact_available();

/// The optimum under the problem's balance constraint. Of equally good assignments (objective
/// communication, small numbers), higher ranks take lower files.
///
/// With several ranks per file and a topology, communication is optimal for the weights of
/// make_links(), which are an estimate there; the response is not linear and is refused.
/// Throws std::invalid_argument for an invalid or too large problem, std::runtime_error if the
/// build has no CBC.
ExactResult assign_exact(const Problem& problem, const ExactOptions& options = {});

}  // namespace choir::multi
