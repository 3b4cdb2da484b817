// record.hpp: what one rank knows about one collective call, and its line of JSON.
//
// docs/trace-schema.md documents every field; a field added here is added there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace choir::trace {

inline constexpr int schema_version = 1;

/// Where the time of a call went, in seconds on this rank.
struct Times {
  double total = 0;
  double agree = 0;     ///< agreeing on signature and errors with the other ranks
  double plan = 0;      ///< computing, or finding, the plan
  double exchange = 0;  ///< moving bytes between ranks
  double storage = 0;   ///< reading and writing the file
  double wait = 0;      ///< waiting for other ranks
};

struct CallRecord {
  std::string_view file;
  int open = 0;                ///< as in OpenRecord
  int first = 0;               ///< as in OpenRecord
  std::int64_t call = 0;       ///< number of the collective call on this open file, from 0
  std::string_view operation;  ///< as in MPI: "write_all", "read_at_all", ...
  std::string_view strategy;
  std::string_view phase;  ///< serving, looking, preparing; fixed: the user's choice
  std::string_view reason;
  std::string_view pattern;     ///< the class of the call, as `choir memory list` shows it
  std::uint64_t signature = 0;  ///< the same as a number
  double start_s = 0;           ///< Unix time
  std::int64_t bytes = 0;       ///< this rank asked for
  std::int64_t pieces = 0;      ///< contiguous pieces of the file this rank asked for
  int ranks = 0;                ///< of the file's communicator
  int rank = 0;                 ///< in the file's communicator
  bool aggregator = false;
  Times seconds;
  std::int64_t bytes_inside = 0;   ///< sent by this rank to ranks of its own node
  std::int64_t bytes_between = 0;  ///< of data, sent by this rank to other nodes
  std::int64_t messages_between = 0;
  std::int64_t metadata_between = 0;  ///< headers and descriptions in those messages
  std::int64_t agreement_bytes = 0;   ///< put into reductions and gatherings between nodes
  std::int64_t cycles = 0;
  std::int64_t bytes_sieved = 0;  ///< holes read or rewritten that nobody asked for
  std::int64_t storage_requests = 0;
  std::int64_t storage_bytes = 0;
  std::int64_t offset_low = 0;   ///< first byte asked for; equal to high when nothing was
  std::int64_t offset_high = 0;  ///< one past the last
  bool plan_cached = false;
  int error_class = 0;  ///< MPI's; 0 is success
};

/// One open of a file; `file`, `first` and `open` are its name, equal on all its ranks.
struct OpenRecord {
  std::string_view file;
  int open = 0;  ///< how many times the first rank's process had opened the file before
  double start_s = 0;
  int ranks = 0;
  int rank = 0;
  int nodes = 0;
  int node = 0;           ///< of this rank
  std::string_view mode;  ///< "read-only", "write-only" or "read-write"
  std::string_view file_system;
  std::vector<std::pair<std::string, std::string>> hints;  ///< in force
  int first = 0;  ///< first rank of the file's communicator, in MPI_COMM_WORLD
};

/// A collective call that choir left to the MPI library, and why.
struct LeftRecord {
  std::string_view file;
  int open = 0;   ///< as in OpenRecord
  int first = 0;  ///< as in OpenRecord
  std::string_view operation;
  std::string_view reason;
};

/// Appends `text` as a JSON string. What is not UTF-8 becomes U+FFFD, so that any file name
/// gives a valid line.
void append_json_string(std::string& out, std::string_view text);

/// Each appends one line, including its newline.
void append_header(std::string& out, int rank, std::string_view host, std::string_view version);
void append_open(std::string& out, const OpenRecord& record);
void append_call(std::string& out, const CallRecord& record);
void append_left(std::string& out, const LeftRecord& record);
void append_end(std::string& out, std::int64_t written, std::int64_t dropped);

}  // namespace choir::trace
