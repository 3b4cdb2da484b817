// report.hpp: what each placement would send between nodes, as a table and as JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "place/predict.hpp"

namespace choir::place {

struct Row {
  std::string name;
  Placement placement;
  double seconds = 0;                      ///< to compute it
  double cut = 0;                          ///< matrix bytes between nodes
  std::map<std::string, Traffic> traffic;  ///< per strategy; empty without collective calls
};

struct Report {
  const Problem& problem;
  std::vector<std::string> strategies;
  std::vector<Row> rows;
  std::string chosen;
  std::string chosen_for;  ///< the strategy
};

/// Fills in cut and traffic of each row.
void assess(Report& report, const PredictOptions& options);
const Row& chosen_row(const Report& report);
std::string table(const Report& report);
std::string json(const Report& report);

}  // namespace choir::place
