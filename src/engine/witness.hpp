// witness.hpp: what happened in an open file: totals for the table at close, and the trace.
//
// Local while calls run; only report() communicates, when the file is closed.
#pragma once

#include <memory>
#include <string>

#include "engine/room.hpp"
#include "trace/stats.hpp"
#include "trace/writer.hpp"

namespace choir {

class Witness {
 public:
  /// `trace_folder` empty: no trace.
  Witness(bool stats, const std::string& trace_folder);
  bool wanted() const { return stats_ || writer_ != nullptr; }
  void opened(const trace::OpenRecord& record);
  /// The next call that ended; they are numbered here.
  void add(trace::CallRecord record);
  /// Collective over the room if statistics are on: combines the ranks' totals; rank 0 prints the
  /// table.
  void report(Neighbourhood& hood, Room& room, const trace::StatsHeader& header,
              const select::Selector& selector);
  /// The process's trace file, ended. Local; before MPI_Finalize.
  static void finish_traces();
  /// What is recorded so far is in the files.
  static void flush_traces();

 private:
  bool stats_;
  std::shared_ptr<trace::TraceWriter> writer_;
  trace::Totals totals_;
  std::int64_t calls_ = 0;
};

}  // namespace choir
