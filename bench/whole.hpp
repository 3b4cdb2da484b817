// whole.hpp: whole files in turn: opened, written or read, closed, as programs do it. Nothing is
// warmed up: what a contender has to learn or to make ready is part of its time.
//
// The modes:
//   files      new files, one step each: a checkpoint per file
//   calls      a new file of many steps that follow one another: the output of a simulation
//   rewritten  a file that is there, written again and again in the same place
//   read       a file that is there, read from its beginning to its end
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "contender.hpp"
#include "job.hpp"

namespace choir::bench {

struct WholeOptions {
  std::vector<std::string> modes;  // in this order; none: no whole files
  std::vector<std::string> contenders;
  int files = 4;
  int steps = 20;
  int turn = 0;  // who begins
  bool sync = false;
  bool verify = true;
  Clock clock = Clock::common;
  std::string directory = ".";
  std::uint64_t seed = 1;
};

/// One file, from the first rank in to the last rank out.
struct FileTime {
  std::string mode, contender;
  int file = 0;  // of this mode, from 0
  double open_s = 0, calls_s = 0, sync_s = 0, close_s = 0;
  std::string strategy;  // who served
  std::string error;     // empty: fine

  /// What `sync` takes is a column of its own.
  double total_s() const { return open_s + calls_s + close_s; }
};

const std::vector<std::string>& whole_modes();

/// Collective over MPI_COMM_WORLD. Results are equal on all ranks. `program` is made repeatable:
/// its views get the extent of the step.
std::vector<FileTime> run_whole(Program& program, const WholeOptions& options);

std::string table_of(const std::vector<FileTime>& times);
nlohmann::json json_of(const std::vector<FileTime>& times);

}  // namespace choir::bench
