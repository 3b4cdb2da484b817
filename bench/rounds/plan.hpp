// plan.hpp: the measurements of bench/choice, launch by launch, in the order they are made. Pure.
//
// A round visits every pattern under every MPI. Odd rounds measure the contenders that choose
// nothing; even rounds also run `auto` four times for each mode, each chain of four with a memory
// of its own: the first run knows nothing. So the best is named by other measurements than those
// the ratio is taken from, and luck in one does not help in the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace choir::rounds {

struct Pattern {
  std::string name;                    // in the table
  std::string workload;                // of choir bench
  std::vector<std::string> arguments;  // --piece 512 ...
  std::int64_t bytes_per_rank = 0;
  bool large = false;  // only new files, and more of them: is what the host does best left to it?
};
const std::vector<Pattern>& patterns();
const Pattern* find_pattern(const std::string& name);

/// The modes of choir bench --whole, and `joint`: all of them in one launch.
const std::vector<std::string>& modes();

/// One mpiexec.
struct Launch {
  std::string mpi;
  int ranks = 0;
  std::string pattern;
  int round = 0;     // from 1
  std::string mode;  // one of modes(), or `fixed`: all modes by those that choose nothing
  int run = 0;       // of auto's chain, 1 to 4; 0 for `fixed`

  bool is_fixed() const { return mode == "fixed"; }
  /// Names the launch in the results, where an interrupted benchmark goes on.
  std::string key() const;
};

/// Runs of a chain: one that knows nothing, then three that remember. The second and the fourth are
/// shown.
inline constexpr int kRuns = 4;

struct Scope {
  std::vector<std::string> mpis, patterns, modes;
  std::vector<int> ranks;
};
std::vector<Launch> launches_of(const Scope& scope, int round);

}  // namespace choir::rounds
