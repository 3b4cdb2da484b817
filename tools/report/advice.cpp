// advice.cpp: one function per rule; the table at the end is the whole rule book.
#include "advice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "trace/left.hpp"

namespace choir::report {

namespace {

using Finding = std::optional<Advice>;

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

Finding failed_calls(const Trace&, const Summary& s) {
  if (s.failed == 0) return {};
  return Advice{"failed-calls", Weight::warning,
                fmt::format("{} of {} calls failed.", s.failed, s.calls),
                "Look at the error classes in the trace (field error_class) before anything else."};
}

Finding incomplete(const Trace& t, const Summary& s) {
  std::size_t missing = 0;
  for (const auto& call : t.calls) missing += call.ranks > static_cast<int>(call.parts.size());
  if (t.dropped == 0 && missing == 0 && t.skipped_lines == 0 && t.unended_files == 0) return {};
  return Advice{
      "incomplete-trace", Weight::hint,
      fmt::format("The trace is not complete: {} records dropped, {} unreadable lines, {} of "
                  "{} calls without the records of all ranks, {} of {} processes that did not end "
                  "properly and may have taken records with them.",
                  t.dropped, t.skipped_lines, missing, s.calls, t.unended_files, t.rank_files),
      "Numbers below describe what is there. Give the whole folder, and a CHOIR_TRACE folder "
      "on a disk with space."};
}

Finding exchange_between_nodes(const Trace&, const Summary& s) {
  const double exchange = share(s.phases.exchange, s.phases.total);
  const auto moved = static_cast<double>(s.bytes_inside + s.bytes_between);
  const double between = share(static_cast<double>(s.bytes_between), moved);
  if (exchange < 0.4 || between < 0.3) return {};
  return Advice{
      "exchange-between-nodes", Weight::warning,
      fmt::format("{:.0f} % of the time is exchange, and {:.0f} % of the exchanged bytes "
                  "cross between nodes.",
                  100 * exchange, 100 * between),
      "Try `choir place`: it puts ranks that share file ranges on the same node. Strategy "
      "core_first keeps the exchange inside nodes."};
}

Finding exchange_inside_nodes(const Trace& t, const Summary& s) {
  const double exchange = share(s.phases.exchange, s.phases.total);
  if (exchange < 0.5 || exchange_between_nodes(t, s)) return {};
  return Advice{
      "exchange-inside-nodes", Weight::hint,
      fmt::format("{:.0f} % of the time is exchange inside nodes.", 100 * exchange),
      "The pieces are copied rather than sent. More aggregators per node (cb_config_list, "
      "cb_nodes) share that work; strategy individual avoids it when pieces are large."};
}

bool is_write(const std::string& operation) { return operation.find("write") != std::string::npos; }

Finding write_only(const Trace& t, const Summary&) {
  std::set<std::string> names;
  std::int64_t calls = 0;
  for (const auto& call : t.calls) {
    const auto& file = t.files[static_cast<std::size_t>(call.file)];
    std::int64_t pieces = 0;
    for (const auto& p : call.parts) pieces = std::max(pieces, p.pieces);
    if (file.mode != "write-only" || !is_write(call.operation) || pieces < 2) continue;
    names.insert(file.name);
    ++calls;
  }
  if (calls == 0) return {};
  return Advice{"write-only", Weight::hint,
                fmt::format("{} writes with gaps went to {}, opened write-only: that prevents data "
                            "sieving, which must read what lies in the gaps.",
                            calls, names.size() == 1 ? *names.begin() : "files"),
                "Open with MPI_MODE_RDWR instead of MPI_MODE_WRONLY."};
}

Finding waiting(const Trace&, const Summary& s) {
  const double wait = share(s.phases.wait + s.phases.agree, s.phases.total);
  if (wait < 0.4) return {};
  return Advice{"waiting", Weight::warning,
                fmt::format("{:.0f} % of the time ranks wait for other ranks.", 100 * wait),
                "They arrive at the call at different times: balance the computation before it, or "
                "use the nonblocking calls (MPI_File_iwrite_all) and compute meanwhile."};
}

Finding small_calls(const Trace&, const Summary& s) {
  constexpr double small = 1 << 20;
  const double mean = share(static_cast<double>(s.bytes), static_cast<double>(s.calls));
  if (s.calls < 20 || mean >= small) return {};
  return Advice{
      "small-calls", Weight::hint,
      fmt::format("{} calls move only {} each, over all ranks.", s.calls, human_bytes(mean)),
      "Collect more before a call: several variables in one call (PnetCDF's iput/wait_all, "
      "HDF5's multi-dataset write), or several files in one with choir's multi-file calls."};
}

Finding uneven_ranks(const Trace&, const Summary& s) {
  const FileSummary* worst = nullptr;
  double factor = 3;
  for (const auto& file : s.files) {
    std::int64_t most = 0;
    for (const auto& load : file.load) most = std::max(most, load.bytes);
    const double mean =
        share(static_cast<double>(file.bytes), static_cast<double>(file.load.size()));
    if (file.load.size() < 2 || share(file.seconds, s.seconds) < 0.1) continue;
    if (share(static_cast<double>(most), mean) <= factor) continue;
    factor = share(static_cast<double>(most), mean);
    worst = &file;
  }
  if (!worst) return {};
  return Advice{"uneven-ranks", Weight::hint,
                fmt::format("In {} one rank asks for {:.1f} times the mean of the ranks.",
                            worst->name, factor),
                "If one rank gathers data before it writes, let every rank write its own part."};
}

Finding uneven_aggregators(const Trace&, const Summary& s) {
  for (const auto& file : s.files) {
    double most = 0, sum = 0;
    int aggregators = 0, busiest = 0;
    for (std::size_t r = 0; r < file.load.size(); ++r) {
      const auto& load = file.load[r];
      if (load.aggregated_calls == 0) continue;
      ++aggregators;
      sum += load.storage_s;
      if (load.storage_s > most) most = load.storage_s, busiest = static_cast<int>(r);
    }
    const double mean = aggregators ? sum / aggregators : 0;
    if (aggregators < 2 || share(most, mean) < 2 || share(most, s.seconds) < 0.2) continue;
    return Advice{
        "uneven-aggregators", Weight::warning,
        fmt::format("In {} aggregator {} spends {:.1f} times the mean of the {} aggregators "
                    "in storage.",
                    file.name, busiest, most / mean, aggregators),
        "Look for a slow node or disk; aligned file domains (striping_unit, cb_block_size) "
        "keep aggregators from sharing stripes."};
  }
  return {};
}

Finding sieving(const Trace&, const Summary& s) {
  const double holes = share(static_cast<double>(s.bytes_sieved), static_cast<double>(s.bytes));
  if (holes < 0.5) return {};
  return Advice{"sieving", Weight::hint,
                fmt::format("Data sieving moved {} of holes for {} asked for.",
                            human_bytes(static_cast<double>(s.bytes_sieved)),
                            human_bytes(static_cast<double>(s.bytes))),
                "Try list requests (romio_ds_write=disable, romio_ds_read=disable), or write the "
                "neighbouring variables in the same call so that the holes close."};
}

Finding many_cycles(const Trace& t, const Summary&) {
  std::int64_t most = 0;
  for (const auto& call : t.calls)
    for (const auto& p : call.parts) most = std::max(most, p.cycles);
  if (most < 64) return {};
  return Advice{"many-cycles", Weight::hint, fmt::format("A call ran in up to {} cycles.", most),
                "Larger buffers mean fewer cycles: raise cb_buffer_size, or cb_nodes for more "
                "aggregators."};
}

Finding small_requests(const Trace&, const Summary& s) {
  const double mean =
      share(static_cast<double>(s.storage_bytes), static_cast<double>(s.storage_requests));
  const double storage = share(s.phases.storage, s.phases.total);
  if (s.storage_requests < 100 || mean >= 64 * 1024 || storage < 0.5) return {};
  return Advice{
      "small-requests", Weight::warning,
      fmt::format("Storage takes {:.0f} % of the time in requests of {} on average.", 100 * storage,
                  human_bytes(mean)),
      "Allow merging: collective_buffering=true, a larger cb_buffer_size, and data sieving "
      "for files opened read-write."};
}

Finding storage_bound(const Trace& t, const Summary& s) {
  const double storage = share(s.phases.storage, s.phases.total);
  if (storage < 0.6 || small_requests(t, s)) return {};
  return Advice{"storage-bound", Weight::good,
                fmt::format("{:.0f} % of the time is the file system at work on large requests.",
                            100 * storage),
                "There is little left to gain in the exchange; a wider striping (striping_factor) "
                "or more aggregators (cb_nodes) may use more of the file system."};
}

Finding native_chosen(const Trace&, const Summary& s) {
  double native = 0;
  for (const auto& p : s.patterns)
    if (p.last_strategy == "native") native += p.seconds;
  if (share(native, s.seconds) < 0.5) return {};
  return Advice{
      "native-chosen", Weight::hint,
      fmt::format("For {:.0f} % of the time the host MPI's own collective was the fastest "
                  "or the only choice.",
                  100 * share(native, s.seconds)),
      "The reasons are in the table of patterns. Nothing needs to be done."};
}

Finding examination(const Trace&, const Summary& s) {
  const double part = share(s.examining_s, s.seconds);
  if (part < 0.2) return {};
  return Advice{
      "examination", Weight::hint,
      fmt::format("{:.0f} % of the time went into calls that examined strategies.", 100 * part),
      "Runs as short as this gain from the memory of earlier runs (choir memory list); a "
      "known winner can be fixed with CHOIR_STRATEGY=name."};
}

Finding changing_patterns(const Trace&, const Summary& s) {
  if (s.calls < 20 ||
      share(static_cast<double>(s.cached_plans), static_cast<double>(s.calls)) >= 0.3 ||
      share(s.phases.plan, s.phases.total) < 0.1)
    return {};
  return Advice{"changing-patterns", Weight::hint,
                fmt::format("{} patterns in {} calls: plans are seldom reused, and planning takes "
                            "{:.0f} % of the time.",
                            s.patterns.size(), s.calls, 100 * share(s.phases.plan, s.phases.total)),
                "Equal sizes per call, padded if need be, let plans and choices be reused."};
}

using Rule = Finding (*)(const Trace&, const Summary&);
constexpr std::array<Rule, 16> rules{
    failed_calls, exchange_between_nodes, small_requests, waiting,       uneven_aggregators,
    write_only,   exchange_inside_nodes,  small_calls,    uneven_ranks,  sieving,
    many_cycles,  changing_patterns,      examination,    storage_bound, native_chosen,
    incomplete,
};

/// One for each reason, whichever files it concerned.
void add_left_calls(const Trace& trace, std::vector<Advice>& all) {
  std::map<std::string, std::int64_t> calls;
  for (const auto& left : trace.left) calls[left.reason] += left.calls;
  for (const auto& [reason, count] : calls)
    all.push_back({"left-to-mpi", Weight::warning, trace::left_line(count, reason) + ".",
                   "choir did nothing for these calls; docs/troubleshooting.md says what helps."});
}

}  // namespace

std::vector<Advice> advise(const Trace& trace, const Summary& summary) {
  std::vector<Advice> all;
  add_left_calls(trace, all);
  for (const auto rule : rules)
    if (auto found = rule(trace, summary)) all.push_back(std::move(*found));
  std::stable_sort(all.begin(), all.end(),
                   [](const Advice& a, const Advice& b) { return a.weight > b.weight; });
  if (all.empty())
    all.push_back({"nothing-found", Weight::good,
                   "Nothing stands out: no phase dominates, ranks and "
                   "aggregators are balanced.",
                   ""});
  return all;
}

std::string human_bytes(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

}  // namespace choir::report
