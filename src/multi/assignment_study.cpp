#include "multi/assignment_study.hpp"

#include <random>
#include <stdexcept>
#include <utility>

#include "multi/assignment_cost.hpp"
#include "multi/assignment_greedy.hpp"
#include "multi/assignment_matching.hpp"

namespace choir::multi {
namespace {

/// What is minimised first, and what decides where that is equal.
struct Score {
  double first = 0;
  double second = 0;
};

Score score_of(const Problem& problem, const Assignment& assignment, Objective objective) {
  const auto cost = evaluate(problem, assignment);
  if (objective == Objective::communication) return {cost.communication, cost.response};
  return {cost.response, cost.communication};
}

/// Rounding alone does not make one better.
bool better(Score a, Score b) {
  constexpr double rounding = 1e-9;
  if (a.first < b.first * (1 - rounding)) return true;
  return a.first <= b.first * (1 + rounding) && a.second < b.second * (1 - rounding);
}

bool exact_is_cheap(const Problem& problem, Objective objective) {
  const auto& requests = problem.requests;
  const bool linear = objective == Objective::communication || !has_topology(problem) ||
                      !make_quotas(requests).several_ranks_per_file;
  return exact_available() && linear &&
         std::int64_t{requests.ranks()} * requests.files() <= max_auto_exact_pairs;
}

StudyResult assign_best(const Problem& problem, const ExactOptions& options) {
  auto best = assign(Method::greedy, problem, options);
  auto least = score_of(problem, best.assignment, options.objective);
  const auto try_method = [&](Method method) {
    auto result = assign(method, problem, options);
    const auto score = score_of(problem, result.assignment, options.objective);
    if (!better(score, least)) return;
    least = score;
    best = std::move(result);
  };
  try_method(Method::matching);
  if (exact_is_cheap(problem, options.objective)) try_method(Method::exact);
  return best;
}

}  // namespace

std::string_view name_of(Method method) {
  for (const auto& entry : method_names)
    if (entry.method == method) return entry.name;
  throw std::invalid_argument("no such method");
}

StudyResult assign(Method method, const Problem& problem, const ExactOptions& options) {
  switch (method) {
    case Method::greedy:
      return {assign_greedy(problem), method, false};
    case Method::matching:
      return {assign_matching(problem), method, false};
    case Method::exact: {
      auto exact = assign_exact(problem, options);
      return {std::move(exact.assignment), method, exact.proven};
    }
    case Method::automatic:
      return assign_best(problem, options);
  }
  throw std::invalid_argument("no such method");
}

RequestMatrix random_requests(const RandomProblem& shape, std::uint64_t seed) {
  if (shape.ranks < 1 || shape.files < 1 || shape.requests_per_file < 1)
    throw std::invalid_argument("a random problem needs ranks, files and requests");
  // Distributions differ between standard libraries, the generator does not.
  std::mt19937_64 random(seed);
  const auto below = [&](int end) { return static_cast<int>(random() % end); };
  constexpr std::int64_t megabyte = 1'000'000;
  std::vector<Request> requests;
  for (int file = 0; file < shape.files; ++file)
    for (int i = 0; i < shape.requests_per_file; ++i) {
      const int rank = below(shape.ranks);
      const int megabytes = shape.equal_sizes ? 32 : 1 + below(100);
      requests.push_back({rank, file, megabytes * megabyte});
    }
  return RequestMatrix::from_entries(shape.ranks, shape.files, requests);
}

}  // namespace choir::multi
