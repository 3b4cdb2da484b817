// runs.hpp: carries out a comparison: runs the command natively and under choir in turn, each time
// with files of its own.
//
// The files a run has written are set aside before the next run begins, so that each makes new
// ones. What was there before stays: the first run refuses to overwrite a file that --files does
// not name, and those it names are put back before each run and at the end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command.hpp"
#include "report.hpp"

namespace choir::compare {

struct Options {
  Words command;
  std::vector<std::string> files;  ///< patterns of files beside those of MPI-IO
  std::string choir;               ///< the program `choir`
  std::size_t pairs = 0;           ///< exactly so many; 0: until the answer is clear
  double minutes = 5;              ///< no further pair after this time
  bool keep = false;
};

/// What stops a comparison, as a sentence for the user.
struct Trouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Called after each run: how many pairs are done, at most how many there will be, what comes next.
using Progress = std::function<void(std::size_t done, std::size_t most, const std::string& next)>;

Findings compare(const Options& options, const Progress& progress);

/// The two commands as they are run, for the user to see.
Words native_command(const Options& options, const std::string& clock);
Words choir_command(const Options& options, const std::string& clock);

/// Ends a comparison after the run under way, with everything put back. For signal handlers.
void interrupt() noexcept;

}  // namespace choir::compare
