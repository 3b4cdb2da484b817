// summary.cpp: one pass over the calls.
#include "summary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "select/rule.hpp"

namespace choir::report {

namespace {

constexpr int heat_columns = 128;
constexpr int heat_rows = 128;
constexpr int most_ranks = 1 << 22;           // each takes room
constexpr std::size_t most_places = 1 << 23;  // of ranks in all opened files

void add_times(Times& sum, const Times& t, double weight) {
  sum.total += t.total * weight;
  sum.agree += t.agree * weight;
  sum.plan += t.plan * weight;
  sum.exchange += t.exchange * weight;
  sum.storage += t.storage * weight;
  sum.wait += t.wait * weight;
}

Times mean_times(const Call& call) {
  Times mean;
  for (const auto& p : call.parts)
    add_times(mean, p.seconds, 1.0 / static_cast<double>(call.parts.size()));
  return mean;
}

/// From the meeting of all ranks on, as choir itself takes the time of a call.
double served_s(const Call& call) {
  double most = 0;
  for (const auto& p : call.parts) most = std::max(most, p.seconds.total - p.seconds.agree);
  return most;
}

/// Nonblocking and split calls wait for the program.
bool is_blocking(const Call& call) {
  return !call.operation.starts_with('i') && !call.operation.ends_with("_begin");
}

/// Compares as choir did while the program ran, without what earlier runs knew.
void add_evidence(select::Evidence& evidence, const Call& call) {
  const double seconds = served_s(call);
  const auto bytes = static_cast<double>(call.bytes());
  const bool failed = std::any_of(call.parts.begin(), call.parts.end(),
                                  [](const RankPart& p) { return p.error_class != 0; });
  // A damaged record may say anything.
  const bool plausible = seconds >= 1e-9 && seconds <= 1e9 && bytes > 0;
  if (!is_blocking(call) || failed || !plausible) return;
  select::Decision decision;
  if (call.phase == "looking") decision.role = select::Role::looking;
  if (call.phase == "preparing") decision.role = select::Role::preparing;
  // A run that continues from an earlier one may begin with a look.
  if (evidence.serves.empty() && decision.role != select::Role::serving) return;
  select::record(evidence, call.strategy, decision, seconds, bytes);
}

void add_to_pattern(PatternSummary& pattern, const Call& call) {
  ++pattern.calls;
  pattern.bytes += call.bytes();
  for (const auto& p : call.parts) pattern.pieces += p.pieces;
  pattern.seconds += call.seconds();
  add_times(pattern.phases, mean_times(call), 1);
  auto& result = pattern.strategies[call.strategy];
  ++result.calls;
  result.examining += call.phase == "looking";
  result.seconds += call.seconds();
  result.bytes += call.bytes();
  pattern.last_strategy = call.strategy;
  pattern.last_reason = call.reason;
  pattern.words = call.pattern;
  add_evidence(pattern.evidence, call);
}

void add_to_total(Summary& sum, const Call& call) {
  ++sum.calls;
  sum.bytes += call.bytes();
  sum.seconds += call.seconds();
  add_times(sum.phases, mean_times(call), 1);
  if (call.phase == "looking") sum.examining_s += call.seconds();
  sum.begin_s = sum.calls == 1 ? call.start_s() : std::min(sum.begin_s, call.start_s());
  sum.end_s = std::max(sum.end_s, call.start_s() + call.seconds());
  bool failed = false;
  for (const auto& p : call.parts) {
    failed = failed || p.error_class != 0;
    sum.bytes_inside += p.bytes_inside;
    sum.bytes_between += p.bytes_between;
    sum.bytes_sieved += p.bytes_sieved;
    sum.storage_requests += p.storage_requests;
    sum.storage_bytes += p.storage_bytes;
  }
  sum.failed += failed;
  sum.cached_plans += call.parts.front().plan_cached;
}

/// A damaged record must not decide how much memory is asked for.
void require_plausible_rank(const RankPart& p, const Call& call) {
  if (p.rank >= most_ranks)
    throw LoadError(fmt::format("call {} has a record of rank {}, but no program has more than {}",
                                call.number, p.rank, most_ranks));
}

void make_place(FileSummary& file, const RankPart& p, std::size_t& places) {
  const auto wanted = static_cast<std::size_t>(p.rank) + 1;
  if (wanted <= file.load.size()) return;
  places += wanted - file.load.size();
  if (places > most_places)
    throw LoadError(
        fmt::format("its files have more than {} ranks together; look at the file of "
                    "one rank, or at fewer files",
                    most_places));
  file.load.resize(wanted);
}

/// `places`: of ranks in all files so far.
void add_load(FileSummary& file, const Call& call, std::size_t& places) {
  ++file.calls;
  file.bytes += call.bytes();
  file.seconds += call.seconds();
  for (const auto& p : call.parts) {
    if (p.rank < 0) continue;
    require_plausible_rank(p, call);
    make_place(file, p, places);
    auto& load = file.load[static_cast<std::size_t>(p.rank)];
    load.bytes += p.bytes;
    load.storage_bytes += p.storage_bytes;
    load.storage_requests += p.storage_requests;
    load.aggregated_calls += p.aggregator;
    load.storage_s += p.seconds.storage;
    load.wait_s += p.seconds.wait;
  }
}

void widen(HeatMap& heat, const Call& call, bool& any) {
  for (const auto& p : call.parts) {
    if (p.offset_high <= p.offset_low) continue;
    heat.low = any ? std::min(heat.low, p.offset_low) : p.offset_low;
    heat.high = any ? std::max(heat.high, p.offset_high) : p.offset_high;
    any = true;
  }
}

/// Bytes from `low` to `high`, which may be further apart than an offset can say.
double distance(std::int64_t low, std::int64_t high) {
  return static_cast<double>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
}

/// Spreads a part's bytes evenly over its range: the trace keeps the range, not every piece.
void add_heat(HeatMap& heat, const RankPart& p) {
  if (p.offset_high <= p.offset_low || heat.bytes.empty() || p.rank < 0) return;
  const double width = distance(heat.low, heat.high) / heat_columns;
  const double begin = distance(heat.low, p.offset_low);
  const double end = distance(heat.low, p.offset_high);
  const auto first = static_cast<int>(begin / width);
  const auto last = std::min(heat_columns - 1, static_cast<int>(end / width));
  auto& row = heat.bytes[static_cast<std::size_t>(p.rank / heat.ranks_per_row)];
  for (int c = first; c <= last; ++c) {
    const double shared = std::min(end, (c + 1) * width) - std::max(begin, c * width);
    if (shared > 0)
      row[static_cast<std::size_t>(c)] += static_cast<double>(p.bytes) * shared / (end - begin);
  }
}

void shape_heat(FileSummary& file) {
  const auto ranks = static_cast<int>(file.load.size());
  file.heat.ranks_per_row = std::max(1, (ranks + heat_rows - 1) / heat_rows);
  const int rows = (ranks + file.heat.ranks_per_row - 1) / file.heat.ranks_per_row;
  if (file.heat.high > file.heat.low)
    file.heat.bytes.assign(static_cast<std::size_t>(rows), std::vector<double>(heat_columns, 0.0));
}

std::vector<FileSummary> file_summaries(const Trace& trace) {
  std::vector<FileSummary> files(trace.files.size());
  std::vector<char> any(trace.files.size(), 0);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& from = trace.files[i];
    files[i].name =
        from.open > 0 ? from.name + " (open " + std::to_string(from.open + 1) + ")" : from.name;
    files[i].mode = from.mode;
    files[i].file_system = from.file_system;
    files[i].ranks = from.ranks;
    files[i].nodes = from.nodes;
    files[i].hints = from.hints;
  }
  std::size_t places = 0;
  for (const auto& call : trace.calls) {
    const auto i = static_cast<std::size_t>(call.file);
    add_load(files[i], call, places);
    bool seen = any[i];
    widen(files[i].heat, call, seen);
    any[i] = seen;
  }
  for (auto& file : files) shape_heat(file);
  for (const auto& call : trace.calls)
    for (const auto& p : call.parts) add_heat(files[static_cast<std::size_t>(call.file)].heat, p);
  std::erase_if(files, [](const FileSummary& f) { return f.calls == 0; });
  std::stable_sort(files.begin(), files.end(), [](const FileSummary& a, const FileSummary& b) {
    return a.seconds > b.seconds;
  });
  return files;
}

}  // namespace

Summary summarise(const Trace& trace) {
  Summary sum;
  std::map<std::tuple<std::string, std::string>, PatternSummary> patterns;
  for (const auto& call : trace.calls) {
    const auto& name = trace.files[static_cast<std::size_t>(call.file)].name;
    auto& pattern = patterns[{name, call.signature}];
    pattern.file = name;
    pattern.operation = call.operation;
    pattern.signature = call.signature;
    add_to_pattern(pattern, call);
    add_to_total(sum, call);
  }
  for (auto& [key, pattern] : patterns) sum.patterns.push_back(std::move(pattern));
  std::stable_sort(sum.patterns.begin(), sum.patterns.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  sum.files = file_summaries(trace);
  return sum;
}

}  // namespace choir::report
