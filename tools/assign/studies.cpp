#include "studies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>

#include "multi/assignment_cost.hpp"

namespace choir::assign {
namespace {

using Clock = std::chrono::steady_clock;
using multi::Method;
using multi::Objective;
using nlohmann::json;

// A solver's answer is as good as its tolerance.
constexpr double optimal_percent = 1e-4;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string_view name_of(Objective objective) {
  return objective == Objective::communication ? "communication" : "response";
}

double value_of(const multi::Problem& problem, const multi::Assignment& assignment,
                Objective objective) {
  const auto cost = multi::evaluate(problem, assignment);
  return objective == Objective::communication ? cost.communication : cost.response;
}

multi::Problem random_problem(const GapOptions& options, std::mt19937_64& random) {
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  multi::RandomProblem shape;
  shape.ranks = between(2, options.max_ranks);
  shape.files = between(1, options.max_files);
  shape.requests_per_file = between(1, 2 * shape.ranks);
  shape.equal_sizes = between(0, 3) == 0;
  auto problem = options.settings;
  problem.requests = multi::random_requests(shape, random());
  return problem;
}

void add_gap(Gap& gap, double value, double optimum) {
  if (optimum > 0)
    gap.percents.push_back(std::max(0.0, 100 * (value / optimum - 1)));
  else if (value > 0)
    ++gap.unbounded;
  else
    gap.percents.push_back(0);
}

/// False if exact did not prove its answer.
bool compare(const multi::Problem& problem, Objective objective, double time_limit_s,
             std::vector<Gap>& gaps) {
  const auto exact = multi::assign_exact(problem, {objective, time_limit_s});
  if (!exact.proven) return false;
  const double optimum = value_of(problem, exact.assignment, objective);
  for (auto& gap : gaps)
    if (gap.objective == objective)
      add_gap(gap, value_of(problem, multi::assign(gap.method, problem).assignment, objective),
              optimum);
  return true;
}

struct Summary {
  double optimal_percent = 0;  ///< of the instances
  double mean = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
};

Summary summarise(const Gap& gap) {
  Summary summary;
  const auto& sorted = gap.percents;
  if (sorted.empty()) return summary;
  const auto count = static_cast<double>(sorted.size());
  const auto at = [&](double part) { return sorted[static_cast<std::size_t>(part * (count - 1))]; };
  const auto optimal =
      std::ranges::count_if(sorted, [](double percent) { return percent <= optimal_percent; });
  summary.optimal_percent = 100 * static_cast<double>(optimal) / (count + gap.unbounded);
  summary.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  summary.median = at(0.5);
  summary.p95 = at(0.95);
  summary.max = sorted.back();
  return summary;
}

}  // namespace

GapStudy study_gap(const GapOptions& options) {
  if (!multi::exact_available())
    throw std::runtime_error("the optimality gap needs CBC, which this build does not have");
  if (options.instances < 1 || options.max_ranks < 2 || options.max_files < 1)
    throw std::invalid_argument("the gap study needs instances, two ranks and a file");
  GapStudy study;
  study.instances = options.instances;
  for (const auto objective : {Objective::communication, Objective::response})
    for (const auto method : {Method::greedy, Method::matching})
      study.gaps.push_back({method, objective, {}, 0});
  std::mt19937_64 random(options.seed);
  const auto begin = Clock::now();
  for (int i = 0; i < options.instances; ++i) {
    const auto problem = random_problem(options, random);
    for (const auto objective : {Objective::communication, Objective::response})
      if (!compare(problem, objective, options.time_limit_s, study.gaps)) ++study.unproven;
  }
  study.seconds = seconds_since(begin);
  for (auto& gap : study.gaps) std::ranges::sort(gap.percents);
  return study;
}

std::string to_table(const GapStudy& study) {
  auto out = fmt::format(
      "optimality gap over {} random instances, {:.1f} s; {} optima not proven in time\n\n",
      study.instances, study.seconds, study.unproven);
  out += fmt::format("{:<14} {:<10} {:>10} {:>8} {:>8} {:>8} {:>8} {:>12}\n", "objective", "method",
                     "optimal", "mean", "median", "95 %", "max", "optimum is 0");
  for (const auto& gap : study.gaps) {
    const auto s = summarise(gap);
    out +=
        fmt::format("{:<14} {:<10} {:>8.1f} % {:>6.2f} % {:>6.2f} % {:>6.2f} % {:>6.2f} % {:>12}\n",
                    name_of(gap.objective), multi::name_of(gap.method), s.optimal_percent, s.mean,
                    s.median, s.p95, s.max, gap.unbounded);
  }
  return out;
}

std::string to_json(const GapStudy& study) {
  json out{{"instances", study.instances},
           {"seconds", study.seconds},
           {"unproven", study.unproven},
           {"gaps", json::array()}};
  for (const auto& gap : study.gaps) {
    const auto s = summarise(gap);
    out["gaps"].push_back({{"objective", name_of(gap.objective)},
                           {"method", multi::name_of(gap.method)},
                           {"optimal_percent", s.optimal_percent},
                           {"mean_percent", s.mean},
                           {"median_percent", s.median},
                           {"p95_percent", s.p95},
                           {"max_percent", s.max},
                           {"optimum_zero", gap.unbounded}});
  }
  return out.dump(2) + "\n";
}

ScaleStudy study_scale(const ScaleOptions& options) {
  auto problem = options.settings;
  problem.requests = multi::random_requests(
      {options.ranks, options.files, options.requests_per_file, false}, options.seed);
  ScaleStudy study{problem.requests.cells(), problem.requests.total_bytes(), {}};
  for (const auto method : {Method::greedy, Method::matching}) {
    const auto begin = Clock::now();
    const auto result = multi::assign(method, problem);
    const double seconds = seconds_since(begin);
    study.rows.push_back(
        {method, seconds, value_of(problem, result.assignment, Objective::communication)});
  }
  return study;
}

std::string to_table(const ScaleStudy& study) {
  auto out = fmt::format("{} requests, {} bytes\n\n{:<10} {:>10} {:>20} {:>14}\n", study.requests,
                         study.total_bytes, "method", "seconds", "communication", "of all bytes");
  for (const auto& row : study.rows)
    out += fmt::format("{:<10} {:>10.3f} {:>20.0f} {:>12.1f} %\n", multi::name_of(row.method),
                       row.seconds, row.communication,
                       100 * row.communication / static_cast<double>(study.total_bytes));
  return out;
}

std::string to_json(const ScaleStudy& study) {
  json out{
      {"requests", study.requests}, {"total_bytes", study.total_bytes}, {"methods", json::array()}};
  for (const auto& row : study.rows)
    out["methods"].push_back({{"method", multi::name_of(row.method)},
                              {"seconds", row.seconds},
                              {"communication_bytes", row.communication}});
  return out.dump(2) + "\n";
}

}  // namespace choir::assign
