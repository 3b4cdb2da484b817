// assignment_study.hpp: all ways to assign behind one call, and random problems to compare them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "multi/assignment.hpp"
#include "multi/assignment_exact.hpp"

namespace choir::multi {

enum class Method { greedy, matching, exact, automatic };

struct MethodName {
  std::string_view name;
  Method method;
};
inline constexpr std::array method_names{
    MethodName{"greedy", Method::greedy},
    MethodName{"matching", Method::matching},
    MethodName{"exact", Method::exact},
    MethodName{"auto", Method::automatic},
};
std::string_view name_of(Method method);

struct StudyResult {
  Assignment assignment;
  Method method = Method::greedy;  ///< what auto took; otherwise what was asked
  bool proven = false;             ///< exact proved it optimal
};

/// auto: the best by the objective of greedy, matching and, where there are at most
/// max_auto_exact_pairs pairs, exact. Equal ones are compared by the other objective; of those that
/// are equal in both, the cheapest method is taken.
StudyResult assign(Method method, const Problem& problem, const ExactOptions& options = {});
inline constexpr std::int64_t max_auto_exact_pairs = 128;

struct RandomProblem {
  int ranks = 0;
  int files = 0;
  int requests_per_file = 0;  ///< at most; a rank may be drawn twice
  bool equal_sizes = false;   ///< every request is as large as every other
};

/// Equal arguments give an equal matrix with every standard library. Requests are 1 to 100 MB.
RequestMatrix random_requests(const RandomProblem& shape, std::uint64_t seed);

}  // namespace choir::multi
