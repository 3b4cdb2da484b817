// evaluate.hpp: from the times of single files to the rows of the table and the targets. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan.hpp"

namespace choir::rounds {

/// One file of one launch.
struct Time {
  Launch launch;
  std::string mode, contender, strategy;
  int file = 0;
  double open_s = 0, calls_s = 0, sync_s = 0, close_s = 0;

  double total_s() const { return open_s + calls_s + close_s; }
};

/// Medians over launches, of the sum over a launch's files.
struct Figures {
  double open_s = 0, calls_s = 0, sync_s = 0, close_s = 0, total_s = 0;
  std::size_t launches = 0;
  std::string strategy;  // who served most often
};

/// One line: a pattern in a mode under an MPI. `joint modes` rows hold what auto took when all
/// modes ran in one launch.
struct Row {
  std::string mpi, pattern, mode;
  int ranks = 0;
  bool joint = false;
  std::string best;                      // of those that choose nothing, in odd rounds
  std::map<std::string, Figures> fixed;  // by contender, in even rounds
  std::map<int, Figures> automatic;      // by run: 1, 2, 4
  std::map<int, double> against_best;    // auto / best, geometric mean over even rounds; by run
  std::map<int, double> against_native;  // auto / native of the same launch, likewise
  double fourth_file = 0;                // mode files, first run: the fourth file / the best's
  double late_files_median = 0;          // pattern large: files from the fourth on, auto / native
  double late_files_mean = 0;
};

std::vector<Row> rows_of(const std::vector<Time>& times);

/// One chain of runs that share a memory; the first was disturbed.
struct Chain {
  std::string mpi;
  int ranks = 0, number = 0;
  /// (auto, best of the others) of the runs from the fourth on.
  std::vector<std::pair<double, double>> late;
};

struct Target {
  std::string what, wanted, reached;
  enum class Outcome { met, missed, not_measured } outcome = Outcome::not_measured;
};
std::vector<Target> targets_of(const std::vector<Row>& rows, bool machine_measured);
Target target_of(const std::vector<Chain>& chains);

/// The median of a chain's late ratios.
double late_ratio(const Chain& chain);

std::string markdown_of(const std::vector<Row>& rows);
std::string markdown_of(const std::vector<Target>& targets);

}  // namespace choir::rounds
