// studies.hpp: how far the heuristics are from the optimum, and how long they take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "multi/assignment_study.hpp"

namespace choir::assign {

struct GapOptions {
  int instances = 1000;
  std::uint64_t seed = 1;
  int max_ranks = 6;
  int max_files = 10;
  /// alpha, beta, balance and slack of every instance.
  multi::Problem settings;
  double time_limit_s = 10;  ///< of one exact solution
};

/// One heuristic against the optimum by one objective.
struct Gap {
  multi::Method method = multi::Method::greedy;
  multi::Objective objective = multi::Objective::communication;
  std::vector<double> percents;  ///< 100 x (heuristic / optimum - 1), ascending
  int unbounded = 0;             ///< the optimum is 0, the heuristic's is not
};

struct GapStudy {
  int instances = 0;
  int unproven = 0;  ///< left out: exact did not finish in time
  double seconds = 0;
  std::vector<Gap> gaps;
};

/// Random instances with fewer, as many and more files than ranks, equal and unequal sizes, few
/// and many requests. Throws std::runtime_error if the build has no CBC.
GapStudy study_gap(const GapOptions& options);
std::string to_table(const GapStudy& study);
std::string to_json(const GapStudy& study);

struct ScaleOptions {
  int ranks = 10'000;
  int files = 10'000;
  int requests_per_file = 16;
  std::uint64_t seed = 1;
  multi::Problem settings;
};

struct ScaleRow {
  multi::Method method = multi::Method::greedy;
  double seconds = 0;
  double communication = 0;
};

struct ScaleStudy {
  std::int64_t requests = 0;
  std::int64_t total_bytes = 0;
  std::vector<ScaleRow> rows;
};

/// Times greedy and matching on one sparse random instance.
ScaleStudy study_scale(const ScaleOptions& options);
std::string to_table(const ScaleStudy& study);
std::string to_json(const ScaleStudy& study);

}  // namespace choir::assign
