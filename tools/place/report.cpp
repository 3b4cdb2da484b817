#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace choir::place {

namespace {

std::string human(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 2, units[unit]);
}

/// Bytes of the matrix between units of each level, outermost first; only placements down to cores
/// differ here.
std::vector<double> cut_by_level(const Problem& problem, const Placement& placement) {
  std::vector<double> cuts;
  int units = 1;
  for (const auto& level : problem.machine.levels) {
    units *= level.arity;
    std::vector<int> unit_of;
    for (std::size_t rank = 0; rank < placement.node_of.size(); ++rank) {
      const int cores =
          problem.machine.nodes[static_cast<std::size_t>(placement.node_of[rank])].cores;
      const int inside =
          static_cast<int>(static_cast<std::int64_t>(placement.core_of[rank]) * units / cores);
      unit_of.push_back(placement.node_of[rank] * units + inside);
    }
    cuts.push_back(cut_weight(problem.graph, unit_of));
  }
  return cuts;
}

}  // namespace

void assess(Report& report, const PredictOptions& options) {
  const auto& problem = report.problem;
  for (auto& row : report.rows) {
    row.cut = cut_weight(problem.graph, row.placement.node_of);
    if (problem.recording.patterns.empty()) continue;
    for (const auto& strategy : report.strategies)
      row.traffic[strategy] =
          predict(problem.recording, problem.machine, row.placement.node_of, strategy, options);
  }
}

const Row& chosen_row(const Report& report) {
  return *std::find_if(report.rows.begin(), report.rows.end(),
                       [&](const Row& row) { return row.name == report.chosen; });
}

std::string table(const Report& report) {
  const auto& problem = report.problem;
  auto text =
      fmt::format("{} ranks on {} nodes with {} cores; {} collective calls, {}{}\n",
                  problem.ranks(), problem.machine.size(), problem.machine.cores(),
                  problem.recording.calls, human(static_cast<double>(problem.recording.bytes)),
                  problem.recording.estimated ? "; neighbours partly estimated" : "");
  const bool predicted = !problem.recording.patterns.empty();
  text += predicted ? "predicted bytes between nodes, per strategy:\n\n"
                    : "bytes of neighbours on different nodes:\n\n";
  text += fmt::format("{:<16}", "placement");
  if (predicted)
    for (const auto& strategy : report.strategies) text += fmt::format(" {:>20}", strategy);
  text += fmt::format(" {:>14} {:>12}\n", "matrix cut", "computed in");
  for (const auto& row : report.rows) {
    text += fmt::format("{:<16}", (row.name == report.chosen ? "* " : "  ") + row.name);
    if (predicted)
      for (const auto& strategy : report.strategies)
        text += fmt::format(" {:>20}", human(row.traffic.at(strategy).between_nodes));
    text += fmt::format(" {:>14} {:>9.2f} ms\n", human(row.cut), row.seconds * 1e3);
  }
  text +=
      fmt::format("\n* chosen{}{}\n", report.chosen_for.empty() ? "" : " for ", report.chosen_for);
  return text;
}

std::string json(const Report& report) {
  const auto& problem = report.problem;
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& row : report.rows) {
    nlohmann::json strategies = nlohmann::json::object();
    for (const auto& [name, traffic] : row.traffic)
      strategies[name] = {{"between_nodes_bytes", traffic.between_nodes},
                          {"busiest_node_bytes", traffic.busiest_node},
                          {"all_bytes", traffic.all}};
    nlohmann::json levels = nlohmann::json::object();
    const auto cuts = cut_by_level(problem, row.placement);
    for (std::size_t i = 0; i < cuts.size(); ++i) levels[problem.machine.levels[i].name] = cuts[i];
    rows.push_back({{"name", row.name},
                    {"seconds", row.seconds},
                    {"matrix_cut_bytes", row.cut},
                    {"matrix_cut_bytes_by_level", levels},
                    {"strategies", strategies},
                    {"node_of_rank", row.placement.node_of},
                    {"core_of_rank", row.placement.core_of}});
  }
  nlohmann::json nodes = nlohmann::json::array();
  for (std::size_t i = 0; i < problem.machine.nodes.size(); ++i)
    nodes.push_back({{"name", problem.machine.nodes[i].name},
                     {"cores", problem.machine.nodes[i].cores},
                     {"ranks", problem.load[i]}});
  const nlohmann::json all = {{"ranks", problem.ranks()},
                              {"calls", problem.recording.calls},
                              {"bytes", problem.recording.bytes},
                              {"estimated", problem.recording.estimated},
                              {"nodes", nodes},
                              {"chosen", report.chosen},
                              {"chosen_for", report.chosen_for},
                              {"placements", rows}};
  return all.dump(1) + "\n";
}

}  // namespace choir::place
