// driver.hpp: runs contenders in turn on one workload and measures each step from the first rank in
// to the last out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "contender.hpp"
#include "job.hpp"
#include "program.hpp"
#include "statistics.hpp"

namespace choir::bench {

struct DriverOptions {
  std::vector<std::string> contenders;
  int repeat = 7;
  int warmup = 2;           // untimed steps before the first timed one
  double max_seconds = 20;  // per contender and operation
  int buffer_shift = 0;     // bytes between a page's beginning and the program's buffer
  bool fresh = false;
  bool presize = false;
  bool drop_caches = false;
  bool verify = true;
  bool keep = false;
  StepOptions step;
  Clock clock = Clock::common;
  std::string directory = ".";
  std::uint64_t seed = 1;
};

struct Result {
  Operation operation = Operation::write;
  std::string contender;
  std::string strategy;  // read back from the file's info
  std::string reason;    // likewise: why that strategy served
  std::vector<double> seconds;
  double estimated_seconds = 0;  // of a step, by choir; 0: it has no estimate
  std::string error;             // empty: fine
  bool verified = false;
  bool stopped_early = false;
};

/// Called on rank 0 after every step, with steps done and to do.
using Progress = std::function<void(int done, int total, Operation, const std::string& contender)>;

/// Collective over MPI_COMM_WORLD. Results are equal on all ranks.
std::vector<Result> run_operation(Operation operation, const Program& program,
                                  const DriverOptions& options, const Progress& progress);

}  // namespace choir::bench
