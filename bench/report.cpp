// report.cpp: see report.hpp.
#include "report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace choir::bench {

namespace {

/// The result of `contender` in the same operation; null if it has no figures.
const Result* find(const WorkloadReport& report, Operation operation,
                   const std::string& contender) {
  for (const auto& result : report.results)
    if (result.operation == operation && result.contender == contender && !result.seconds.empty())
      return &result;
  return nullptr;
}

/// How many times faster than `other` the best repetition is; 0 if that cannot be said.
double ratio_to(const WorkloadReport& report, const Result& result, const std::string& other) {
  const auto* reference = find(report, result.operation, other);
  if (reference == nullptr || result.seconds.empty()) return 0;
  return summarize(reference->seconds).best / summarize(result.seconds).best;
}

double host_ratio(const WorkloadReport& report, const Result& result) {
  const double ratio = ratio_to(report, result, "host");
  return ratio > 0 ? ratio : ratio_to(report, result, "native");
}

double megabytes_per_second(const WorkloadReport& report, double seconds) {
  return seconds > 0 ? static_cast<double>(report.total_bytes) / seconds / 1e6 : 0;
}

std::string or_dash(double value, const char* format) {
  return value > 0 ? fmt::format(fmt::runtime(format), value) : "-";
}

std::string remark(const Result& result) {
  if (!result.error.empty()) return "FAILED: " + result.error;
  std::string text = result.verified ? "ok" : "-";
  if (result.stopped_early) text += fmt::format(" ({} repetitions)", result.seconds.size());
  return text;
}

}  // namespace

std::string human_bytes(std::int64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 10 << 20) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  if (bytes >= 10 << 10) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / (1 << 10));
  return fmt::format("{} B", bytes);
}

std::string table_of(const WorkloadReport& report) {
  auto text = fmt::format(
      "{}: {} ranks, {} in all, {} pieces of {} on average, {} calls a step\n", report.workload,
      report.scale.ranks, human_bytes(report.total_bytes), report.blocks,
      human_bytes(report.blocks > 0 ? report.total_bytes / report.blocks : 0), report.calls);
  text += fmt::format("  {:<6}{:<22}{:<29}{:>10}{:>10}{:>9}{:>9}{:>9}{:>11}  {}\n", "", "contender",
                      "strategy", "best MB/s", "med. MB/s", "spread", "x host", "x floor",
                      "calls/s", "verified");
  for (const auto& result : report.results) {
    const auto summary = summarize(result.seconds);
    const double calls = summary.best > 0 ? static_cast<double>(report.calls) / summary.best : 0;
    text += fmt::format(
        "  {:<6}{:<22}{:<29}{:>10}{:>10}{:>9}{:>9}{:>9}{:>11}  {}\n", name_of(result.operation),
        result.contender, result.strategy.empty() ? "-" : result.strategy,
        or_dash(megabytes_per_second(report, summary.best), "{:.0f}"),
        or_dash(megabytes_per_second(report, summary.median), "{:.0f}"),
        or_dash(summary.spread * 100, "{:.0f} %"), or_dash(host_ratio(report, result), "{:.2f}"),
        or_dash(ratio_to(report, result, "floor"), "{:.2f}"), or_dash(calls, "{:.0f}"),
        remark(result));
  }
  return text;
}

nlohmann::json json_of(const WorkloadReport& report) {
  nlohmann::json results = nlohmann::json::array();
  for (const auto& result : report.results) {
    const auto summary = summarize(result.seconds);
    results.push_back({{"operation", name_of(result.operation)},
                       {"contender", result.contender},
                       {"strategy", result.strategy},
                       {"reason", result.reason},
                       {"seconds", result.seconds},
                       {"best_seconds", summary.best},
                       {"median_seconds", summary.median},
                       {"estimated_seconds", result.estimated_seconds},
                       {"spread", summary.spread},
                       {"best_mb_s", megabytes_per_second(report, summary.best)},
                       {"median_mb_s", megabytes_per_second(report, summary.median)},
                       {"ratio_host", host_ratio(report, result)},
                       {"ratio_floor", ratio_to(report, result, "floor")},
                       {"verified", result.verified},
                       {"stopped_early", result.stopped_early},
                       {"error", result.error}});
  }
  return {{"workload", report.workload},
          {"ranks", report.scale.ranks},
          {"bytes_per_rank", report.scale.bytes_per_rank},
          {"piece", report.scale.piece},
          {"seed", report.scale.seed},
          {"parameters", report.scale.values},
          {"mode", report.mode},
          {"total_bytes", report.total_bytes},
          {"pieces", report.blocks},
          {"calls", report.calls},
          {"results", results}};
}

}  // namespace choir::bench
