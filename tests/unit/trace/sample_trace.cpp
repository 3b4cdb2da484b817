// sample_trace DIR: the trace of an imaginary run, for the test of the page.
//
// Sixteen ranks on two nodes write a checkpoint with gaps to a file opened write-only and read a
// plot file; a third file has a name that would break a careless page. The rule is the real
// one, the times are made up: most of the checkpoint's time is exchange between nodes.
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "select/book.hpp"
#include "trace/writer.hpp"

namespace {

using namespace choir;

constexpr int ranks = 16;
constexpr int nodes = 2;

struct Workload {
  std::string file;
  std::string operation;
  std::string mode;
  std::uint64_t signature;
  std::int64_t bytes_per_rank;
  std::int64_t pieces;
  std::vector<select::Contender> candidates;
  std::vector<double> truth_s;
  std::int64_t calls = 0;
};

std::vector<Workload> workloads() {
  return {
      {"/scratch/run/checkpoint.nc",
       "write_all",
       "write-only",
       0x5e12aa00bb34cc01,
       4 << 20,
       64,
       {{"native", select::Kind::host, 0.11, 0.11},
        {"two_phase", select::Kind::exchange, 0.07, 0.07},
        {"core_first", select::Kind::exchange, 0.08, 0.08},
        {"individual", select::Kind::own, 0.4, 0.4}},
       {0.120, 0.080, 0.050, 0.300}},
      {"/scratch/run/plot.h5",
       "read_at_all",
       "read-only",
       0x91c3d4e5f6071823,
       512 << 10,
       1,
       {{"native", select::Kind::host, 0.012, 0.012},
        {"two_phase", select::Kind::exchange, 0.010, 0.010},
        {"disk_first", select::Kind::exchange, 0.009, 0.009}},
       {0.014, 0.009, 0.011}},
      {"/scratch/run/</script><b>odd \"name\".dat",
       "write_at_all",
       "read-write",
       0x00ff00ff00ff00ff,
       64 << 10,
       8,
       {{"native", select::Kind::host, 0.004, 0.004}},
       {0.004}},
  };
}

double total_bytes(const Workload& w) { return static_cast<double>(ranks * w.bytes_per_rank); }

/// One class for each workload is all that matters here.
select::ClassKey key_of(const Workload& w) {
  select::ClassKey key;
  key.writing = w.operation.starts_with("write");
  key.bytes = w.bytes_per_rank > (1 << 20) ? 24 : 16;
  return key;
}

/// Repeatable scatter between 0.9 and 1.1.
double scatter(std::int64_t call, int rank) {
  return 1 + 0.1 * std::sin(static_cast<double>(call) * 12.9898 + rank * 78.233);
}

trace::CallRecord part(const Workload& w, int rank, const select::Decision& choice,
                       double start_s) {
  trace::CallRecord r;
  r.file = w.file;
  r.call = w.calls;
  r.operation = w.operation;
  r.strategy = w.candidates[choice.contender].name;
  r.phase = select::role_name(choice.role);
  r.reason = choice.reason;
  r.signature = w.signature;
  r.start_s = start_s + 0.0001 * rank;
  r.bytes = w.bytes_per_rank;
  r.pieces = w.pieces;
  r.ranks = ranks;
  r.rank = rank;
  r.aggregator = r.strategy != "native" && rank % 4 == 0;
  const double total = w.truth_s[choice.contender] * scatter(w.calls, rank);
  const bool write = w.operation.starts_with("write");
  const double exchange = write ? 0.62 : 0.25;
  r.seconds = {total,       0.03 * total, 0.01 * total, exchange * total, (0.90 - exchange) * total,
               0.04 * total};
  const auto sent = r.bytes * 3 / 4;
  const bool inside = r.strategy == "core_first" && w.calls % 2 == 0;
  r.bytes_between = write && !inside ? sent * 2 / 3 : sent / 8;
  r.bytes_inside = sent - r.bytes_between;
  r.cycles = 4;
  r.storage_requests = r.aggregator ? 16 : 0;
  r.storage_bytes = r.aggregator ? r.bytes * 4 : 0;
  r.offset_low = (w.calls * ranks + rank) * w.bytes_per_rank;
  r.offset_high = r.offset_low + 2 * w.bytes_per_rank;
  r.plan_cached = w.calls > 3;
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: sample_trace DIR\n");
    return 2;
  }
  std::vector<std::unique_ptr<trace::TraceWriter>> writers;
  for (int rank = 0; rank < ranks; ++rank)
    writers.push_back(std::make_unique<trace::TraceWriter>(argv[1], rank, "1.0"));
  auto all = workloads();
  double now = 1763200000;
  for (const auto& w : all)
    for (int rank = 0; rank < ranks; ++rank)
      writers[rank]->open({w.file,
                           0,
                           now,
                           ranks,
                           rank,
                           nodes,
                           rank * nodes / ranks,
                           w.mode,
                           "lustre",
                           {{"cb_nodes", "4"}, {"cb_buffer_size", "16777216"}}});
  select::Book book;
  for (int step = 0; step < 60; ++step) {
    for (auto& w : all) {
      const auto choice =
          book.choose(key_of(w), w.candidates, {total_bytes(w), true, false, 1, nullptr});
      double slowest = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto record = part(w, rank, choice, now);
        slowest = std::max(slowest, record.seconds.total);
        writers[rank]->call(record);
      }
      book.record(key_of(w), w.candidates[choice.contender].name, choice, slowest, total_bytes(w));
      ++w.calls;
      now += slowest + 0.05;
    }
  }
  for (auto& writer : writers) {
    writer->finish();
    if (!writer->error().empty() || writer->dropped() > 0) {
      std::fprintf(stderr, "sample_trace: %s\n", writer->error().c_str());
      return 1;
    }
  }
  return 0;
}
