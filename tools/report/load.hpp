// load.hpp: a trace as it was written, its ranks' records brought together call by call.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace choir::report {

/// The input is not a trace; the text says what is wrong and where.
struct LoadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Times {
  double total = 0, agree = 0, plan = 0, exchange = 0, storage = 0, wait = 0;
};

/// One rank's part of a call.
struct RankPart {
  int rank = 0;
  bool aggregator = false;
  double start_s = 0;
  Times seconds;
  std::int64_t bytes = 0, pieces = 0;
  std::int64_t bytes_inside = 0, bytes_between = 0, bytes_sieved = 0;
  std::int64_t cycles = 0, storage_requests = 0, storage_bytes = 0;
  std::int64_t offset_low = 0, offset_high = 0;
  bool plan_cached = false;
  int error_class = 0;
};

struct Call {
  int file = 0;  ///< index into Trace::files
  std::int64_t number = 0;
  std::string operation, strategy, phase, reason, signature;
  std::string pattern;  ///< the class in words; empty in traces of version 0.1
  int ranks = 0;
  std::vector<RankPart> parts;

  double start_s() const;  ///< the earliest rank's
  double seconds() const;  ///< the slowest rank's
  std::int64_t bytes() const;
};

/// One open of a file.
struct OpenedFile {
  std::string name;
  int open = 0;
  std::string mode, file_system;
  int ranks = 0, nodes = 0;
  std::map<std::string, std::string> hints;
};

/// Collective calls on one open file that were left to the MPI library.
struct LeftCalls {
  int file = 0;  ///< index into Trace::files
  std::string reason;
  std::int64_t calls = 0;  ///< of the rank that left most
};

struct Trace {
  std::vector<OpenedFile> files;
  std::vector<Call> calls;  ///< by start time
  std::vector<LeftCalls> left;
  int rank_files = 0;
  int unended_files = 0;           ///< of processes that did not end properly, or run still
  std::int64_t dropped = 0;        ///< records the writers could not keep
  std::int64_t skipped_lines = 0;  ///< lines that are no record, such as a last half line
  std::string first_skipped;       ///< where and why
};

/// `path` is a folder with rank-*.jsonl files, or one such file.
Trace load_trace(const std::string& path);

}  // namespace choir::report
