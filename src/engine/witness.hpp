// witness.hpp: what happened in an open file: totals for the table at close, and the trace.
//
// Local while calls run; only report() communicates, when the file is closed.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "engine/room.hpp"
#include "trace/stats.hpp"
#include "trace/writer.hpp"

namespace choir {

class Witness {
 public:
  /// `trace_folder` empty: no trace.
  Witness(bool stats, const std::string& trace_folder);
  Witness(const Witness&) = delete;
  bool wanted() const { return stats_ || writer_ != nullptr; }
  void opened(const trace::OpenRecord& record);
  /// The next call that ended; they are numbered here.
  void add(trace::CallRecord record);
  /// A call that the MPI library makes.
  void left(std::string_view operation, trace::Left reason);
  /// Collective over the room if statistics are on: combines the ranks' totals; rank 0 prints the
  /// table.
  void report(Neighbourhood& hood, Room& room, const trace::StatsHeader& header,
              const trace::KnownClasses& known);
  /// The same where there is no room: `prints` on one rank that knows all calls there were. Local.
  void report_alone(const trace::StatsHeader& header, bool prints);
  /// The process's trace file, ended. Local; before MPI_Finalize.
  static void finish_traces();
  /// What is recorded so far is in the files.
  static void flush_traces();

 private:
  bool stats_;
  std::shared_ptr<trace::TraceWriter> writer_;
  trace::Totals totals_;
  std::mutex left_mutex_;  ///< any thread of the program may leave a call
  std::int64_t calls_ = 0;
  // As in trace::OpenRecord.
  std::string file_;
  int open_ = 0, first_ = 0;
};

}  // namespace choir
