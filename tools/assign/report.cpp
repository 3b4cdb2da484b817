#include "report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "multi/assignment_cost.hpp"

namespace choir::assign {
namespace {

using nlohmann::json;

// Above these, lists of ranks and files say less than the sums.
constexpr int most_listed_ranks = 64;
constexpr std::size_t most_listed_files = 16;

std::string method_label(const MethodReport& report) {
  std::string label{multi::name_of(report.method)};
  if (report.method != report.result.method)
    label += fmt::format(" ({})", multi::name_of(report.result.method));
  if (report.result.method == multi::Method::exact && !report.result.proven)
    label += ", time limit reached";
  return label;
}

std::vector<std::vector<int>> files_of_ranks(const multi::Assignment& assignment, int ranks) {
  std::vector<std::vector<int>> files(ranks);
  for (std::size_t file = 0; file < assignment.owners.size(); ++file)
    for (const int rank : assignment.owners[file]) files[rank].push_back(static_cast<int>(file));
  return files;
}

std::string list_files(const std::vector<int>& files) {
  if (files.empty()) return "-";
  if (files.size() <= most_listed_files) return fmt::format("{}", fmt::join(files, " "));
  return fmt::format("{} ... ({} files)",
                     fmt::join(files.begin(), files.begin() + most_listed_files, " "),
                     files.size());
}

void add_rank_table(const multi::Problem& problem, const MethodReport& report,
                    const multi::Cost& cost, std::string& out) {
  const int ranks = problem.requests.ranks();
  const auto files = files_of_ranks(report.result.assignment, ranks);
  out += fmt::format("\n{}\n{:>6} {:>16} {:>18} {:>18}  files\n", method_label(report), "rank",
                     "I/O bytes", "moved bytes", "time");
  for (int rank = 0; rank < std::min(ranks, most_listed_ranks); ++rank)
    out +=
        fmt::format("{:>6} {:>16} {:>18.0f} {:>18.0f}  {}\n", rank, cost.ranks[rank].io_bytes,
                    cost.ranks[rank].moved_bytes, cost.ranks[rank].time, list_files(files[rank]));
  if (ranks > most_listed_ranks)
    out += fmt::format("{:>6} and {} more ranks\n", "...", ranks - most_listed_ranks);
}

json rank_to_json(const multi::RankCost& cost, const std::vector<int>& files) {
  return {{"files", files},
          {"io_bytes", cost.io_bytes},
          {"moved_bytes", cost.moved_bytes},
          {"time", cost.time}};
}

json report_to_json(const multi::Problem& problem, const MethodReport& report) {
  json entry{{"method", multi::name_of(report.method)}};
  if (!report.error.empty()) {
    entry["error"] = report.error;
    return entry;
  }
  const auto cost = multi::evaluate(problem, report.result.assignment);
  const auto files = files_of_ranks(report.result.assignment, problem.requests.ranks());
  entry["used"] = multi::name_of(report.result.method);
  entry["proven_optimal"] = report.result.proven;
  entry["seconds"] = report.seconds;
  entry["communication_bytes"] = cost.communication;
  entry["max_io_bytes"] = cost.max_io_bytes;
  entry["response"] = cost.response;
  entry["owners"] = report.result.assignment.owners;
  entry["ranks"] = json::array();
  for (std::size_t rank = 0; rank < cost.ranks.size(); ++rank)
    entry["ranks"].push_back(rank_to_json(cost.ranks[rank], files[rank]));
  return entry;
}

}  // namespace

std::vector<MethodReport> run_methods(const multi::Problem& problem,
                                      const std::vector<multi::Method>& methods,
                                      const multi::ExactOptions& options) {
  std::vector<MethodReport> reports;
  for (const auto method : methods) {
    MethodReport report{.method = method, .result = {}, .error = {}};
    const auto begin = std::chrono::steady_clock::now();
    try {
      report.result = multi::assign(method, problem, options);
    } catch (const std::exception& error) {
      report.error = error.what();
    }
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    reports.push_back(std::move(report));
  }
  return reports;
}

std::string to_table(const multi::Problem& problem, const std::vector<MethodReport>& reports) {
  const auto& requests = problem.requests;
  auto out = fmt::format("{} ranks, {} files, {} bytes in {} requests; alpha {}, beta {}\n\n",
                         requests.ranks(), requests.files(), requests.total_bytes(),
                         requests.cells(), problem.alpha, problem.beta);
  out += fmt::format("{:<26} {:>18} {:>16} {:>18} {:>10}\n", "method", "communication",
                     "largest I/O", "response", "seconds");
  std::string details;
  for (const auto& report : reports) {
    if (!report.error.empty()) {
      out += fmt::format("{:<26} {}\n", multi::name_of(report.method), report.error);
      continue;
    }
    const auto cost = multi::evaluate(problem, report.result.assignment);
    out += fmt::format("{:<26} {:>18.0f} {:>16} {:>18.0f} {:>10.4f}\n", method_label(report),
                       cost.communication, cost.max_io_bytes, cost.response, report.seconds);
    add_rank_table(problem, report, cost, details);
  }
  return out + details;
}

std::string to_json(const multi::Problem& problem, const std::vector<MethodReport>& reports) {
  const auto& requests = problem.requests;
  json out{{"ranks", requests.ranks()},
           {"files", requests.files()},
           {"total_bytes", requests.total_bytes()},
           {"alpha", problem.alpha},
           {"beta", problem.beta},
           {"methods", json::array()}};
  for (const auto& report : reports) out["methods"].push_back(report_to_json(problem, report));
  return out.dump(2) + "\n";
}

}  // namespace choir::assign
