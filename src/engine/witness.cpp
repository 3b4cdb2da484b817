#include "engine/witness.hpp"

#include <atomic>
#include <choir_version.hpp>
#include <cstdio>
#include <map>
#include <mutex>

#include "engine/file.hpp"
#include "mpi/error.hpp"
#include "mpi/job.hpp"

namespace choir {
namespace {

std::mutex writers_mutex;

/// One writer per folder and process, whatever number of files it serves.
std::map<std::string, std::shared_ptr<trace::TraceWriter>>& writers() {
  static std::map<std::string, std::shared_ptr<trace::TraceWriter>> all;
  return all;
}

std::shared_ptr<trace::TraceWriter> writer_for(const std::string& folder) {
  if (folder.empty()) return nullptr;
  const std::lock_guard lock(writers_mutex);
  auto& writer = writers()[folder];
  if (!writer) writer = std::make_shared<trace::TraceWriter>(folder, job_rank(), CHOIR_VERSION);
  return writer;
}

/// Once, and by one rank, though all may meet the same full disk: a user who waits for a trace
/// shall not learn at the end that there is none.
void warn_of(const trace::TraceWriter& writer) {
  static std::atomic<bool> warned{false};
  const auto error = writer.error();
  if (!error.empty() && job_rank() == 0 && !warned.exchange(true)) warn("trace: " + error);
}

}  // namespace

Witness::Witness(bool stats, const std::string& trace_folder)
    : stats_(stats), writer_(writer_for(trace_folder)) {}

void Witness::opened(const trace::OpenRecord& record) {
  file_ = record.file;
  open_ = record.open;
  first_ = record.first;
  if (!writer_) return;
  writer_->open(record);
  warn_of(*writer_);
}

void Witness::add(trace::CallRecord record) {
  record.call = calls_++;
  if (stats_) totals_.add(record);
  if (writer_) writer_->call(record);
}

void Witness::left(std::string_view operation, trace::Left reason) {
  {
    const std::lock_guard lock(left_mutex_);
    totals_.add_left(reason);
  }
  if (writer_) writer_->left({file_, open_, first_, operation, trace::text_of(reason)});
}

void Witness::report_alone(const trace::StatsHeader& header, bool prints) {
  if (writer_) writer_->flush();
  if (!stats_ || !prints) return;
  const auto table = trace::stats_table(header, totals_, {});
  std::fwrite(table.data(), 1, table.size(), stderr);
}

void Witness::report(Neighbourhood& hood, Room& room, const trace::StatsHeader& header,
                     const trace::KnownClasses& known) {
  if (writer_) writer_->flush();
  if (!stats_) return;
  auto sums = totals_.sums();
  auto maxima = totals_.maxima();
  // Ranks have seen the same calls, so the arrays have one shape; a rank that has not would hang
  // the others.
  long long shape[2] = {static_cast<long long>(sums.size()), -static_cast<long long>(sums.size())};
  check(PMPI_Allreduce(MPI_IN_PLACE, shape, 2, MPI_LONG_LONG, MPI_MIN, room.comm.get()));
  if (shape[0] != -shape[1]) return;
  check(PMPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE,
                       MPI_SUM, room.comm.get()));
  check(PMPI_Allreduce(MPI_IN_PLACE, maxima.data(), static_cast<int>(maxima.size()), MPI_DOUBLE,
                       MPI_MAX, room.comm.get()));
  auto& left = totals_.left();
  check(PMPI_Allreduce(MPI_IN_PLACE, left.data(), static_cast<int>(left.size()), MPI_INT64_T,
                       MPI_MAX, room.comm.get()));
  if (hood.rank() != 0) return;
  totals_.set_sums(sums);
  totals_.set_maxima(maxima);
  const auto table = trace::stats_table(header, totals_, known);
  std::fwrite(table.data(), 1, table.size(), stderr);
}

void Witness::flush_traces() {
  const std::lock_guard lock(writers_mutex);
  for (auto& [folder, writer] : writers()) {
    writer->flush();
    warn_of(*writer);
  }
}

void Witness::finish_traces() {
  const std::lock_guard lock(writers_mutex);
  for (auto& [folder, writer] : writers()) {
    writer->finish();
    warn_of(*writer);
  }
}

}  // namespace choir
