// summary.hpp: the numbers of a trace that the page draws and the advice is based on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "load.hpp"
#include "select/evidence.hpp"

namespace choir::report {

struct StrategyResult {
  std::int64_t calls = 0;
  std::int64_t examining = 0;  ///< of them
  double seconds = 0;          ///< of the slowest ranks
  std::int64_t bytes = 0;

  double bytes_per_s() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

/// All calls of one pattern on one file name.
struct PatternSummary {
  std::string file, operation, signature;
  std::int64_t calls = 0, bytes = 0, pieces = 0;
  double seconds = 0;
  Times phases;  ///< mean over the ranks of their sums
  std::map<std::string, StrategyResult> strategies;
  std::string last_strategy, last_reason;
  std::string words;          ///< the class; empty in traces of version 0.1
  select::Evidence evidence;  ///< what these calls alone tell
};

/// What one rank did for one open file.
struct RankLoad {
  std::int64_t bytes = 0, storage_bytes = 0, storage_requests = 0, aggregated_calls = 0;
  double storage_s = 0, wait_s = 0;
};

/// Bytes of ranks (rows) in ranges of the file (columns).
struct HeatMap {
  std::int64_t low = 0, high = 0;
  int ranks_per_row = 1;
  std::vector<std::vector<double>> bytes;
};

struct FileSummary {
  std::string name, mode, file_system;
  int ranks = 0, nodes = 0;
  std::map<std::string, std::string> hints;
  std::vector<RankLoad> load;  ///< by rank
  HeatMap heat;
  std::int64_t calls = 0, bytes = 0;
  double seconds = 0;
};

struct Summary {
  std::vector<PatternSummary> patterns;  ///< the most time first
  std::vector<FileSummary> files;        ///< the most time first
  Times phases;                          ///< mean over the ranks
  double seconds = 0;                    ///< of all calls, slowest ranks
  double begin_s = 0, end_s = 0;
  std::int64_t calls = 0, bytes = 0, failed = 0, cached_plans = 0;
  std::int64_t bytes_inside = 0, bytes_between = 0, bytes_sieved = 0;
  std::int64_t storage_requests = 0, storage_bytes = 0;
  double examining_s = 0;
};

/// Throws LoadError where a record cannot be true.
Summary summarise(const Trace& trace);

}  // namespace choir::report
