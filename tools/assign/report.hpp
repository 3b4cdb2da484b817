// report.hpp: what each method assigns and what that costs, as a table or as JSON.
#pragma once

#include <string>
#include <vector>

#include "multi/assignment_study.hpp"

namespace choir::assign {

struct MethodReport {
  multi::Method method = multi::Method::greedy;
  multi::StudyResult result;
  double seconds = 0;
  std::string error;  ///< why the method gave no result; empty if it did
};

/// Runs the methods. One that cannot do the problem says so in its report.
std::vector<MethodReport> run_methods(const multi::Problem& problem,
                                      const std::vector<multi::Method>& methods,
                                      const multi::ExactOptions& options);

std::string to_table(const multi::Problem& problem, const std::vector<MethodReport>& reports);
std::string to_json(const multi::Problem& problem, const std::vector<MethodReport>& reports);

}  // namespace choir::assign
