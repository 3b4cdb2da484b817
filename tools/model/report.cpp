#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace choir::model {
namespace {

std::string scaled(double value, double step, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  while (std::abs(value) >= step && unit + 1 != units.end()) value /= step, ++unit;
  return unit == units.begin() ? fmt::format("{:.0f}{}", value, *unit)
                               : fmt::format("{:.1f}{}", value, *unit);
}

std::string heading(const Model& model) {
  const auto& s = model.scenario();
  const auto& m = s.machine;
  return fmt::format(
      "{} of {}: {} ranks on {} nodes, {} a rank, pieces of {}, {} {}\n"
      "links {}/s {}, servers {} x {}/s, stripes of {}, seek {}, cycle buffers {}\n\n",
      s.writing ? "write" : "read", s.workload.name, m.ranks, model.topology().nodes(),
      human_bytes(static_cast<double>(s.workload.bytes_per_rank)),
      human_bytes(static_cast<double>(model.workload().parameters().piece)),
      model.workload().calls(), model.workload().calls() == 1 ? "call" : "calls",
      human_bytes(m.between.bandwidth), human_seconds(m.between.latency_s), m.servers.count,
      human_bytes(m.servers.bandwidth), human_bytes(static_cast<double>(m.servers.unit)),
      human_seconds(m.servers.seek_s),
      human_bytes(static_cast<double>(model.parameters().cycle_bytes)));
}

nlohmann::json json_of(const Prediction& p) {
  const auto& t = p.traffic;
  return {
      {"strategy", p.strategy},
      {"bytes", p.bytes},
      {"aggregators", p.aggregators},
      {"sampled", p.sampled},
      {"traffic",
       {{"bytes_in_node", t.bytes_in_node},
        {"bytes_between_nodes", t.bytes_between_nodes},
        {"messages_between_nodes", t.messages_between_nodes},
        {"empty_messages", t.empty_messages},
        {"packet_metadata_bytes", t.metadata_bytes},
        {"agreement_bytes", t.agreement_bytes},
        {"gathered_bytes", t.gathered_bytes},
        {"cycles", t.cycles},
        {"most_bytes_of_node", t.most_bytes_of_node},
        {"paced_bytes_of_node", t.paced_bytes_of_node}}},
      {"metadata_bytes", p.metadata_bytes},
      {"storage",
       {{"clients", p.storage.clients},
        {"requests", p.storage.requests},
        {"server_requests", p.storage.server_requests},
        {"most_requests_of_server", p.storage.most_requests_of_server},
        {"seeks", p.storage.seeks},
        {"bytes", p.storage.bytes}}},
      {"memory", {{"per_aggregator", p.memory_per_aggregator}, {"per_node", p.memory_per_node}}},
      {"seconds",
       {{"agree", p.seconds.agree},
        {"exchange", p.seconds.exchange},
        {"storage", p.seconds.storage},
        {"total", p.seconds.total}}},
      {"bandwidth_Bps", p.bandwidth()}};
}

}  // namespace

std::string human_bytes(double bytes) {
  return scaled(bytes, 1024, {"", " KiB", " MiB", " GiB", " TiB", " PiB"});
}
std::string human_count(double count) { return scaled(count, 1000, {"", " k", " M", " G", " T"}); }

std::string human_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

std::string table_of(const Model& model, const std::vector<Prediction>& predictions) {
  std::vector<std::vector<std::string>> rows{{"strategy", "aggr", "between nodes", "messages",
                                              "empty", "metadata", "requests", "seeks", "mem/aggr",
                                              "agree", "exchange", "storage", "total", "MB/s"}};
  bool sampled = false;
  for (const auto& p : predictions) {
    const auto count = [](std::int64_t value) { return human_count(static_cast<double>(value)); };
    rows.push_back({p.strategy + (p.sampled ? " *" : ""), count(p.aggregators),
                    human_bytes(static_cast<double>(p.traffic.bytes_between_nodes)),
                    count(p.traffic.messages_between_nodes), count(p.traffic.empty_messages),
                    human_bytes(static_cast<double>(p.metadata_bytes)),
                    count(p.storage.server_requests), count(p.storage.seeks),
                    human_bytes(static_cast<double>(p.memory_per_aggregator)),
                    human_seconds(p.seconds.agree), human_seconds(p.seconds.exchange),
                    human_seconds(p.seconds.storage), human_seconds(p.seconds.total),
                    fmt::format("{:.1f}", p.bandwidth() / 1e6)});
    sampled = sampled || p.sampled;
  }
  return heading(model) + aligned(rows) +
         (sampled ? "* some numbers are scaled up from a sample\n" : "");
}

std::string json_of(const Model& model, const std::vector<Prediction>& predictions) {
  const auto& s = model.scenario();
  const auto& m = s.machine;
  nlohmann::json document{{"format", "choir-model"},
                          {"version", 1},
                          {"operation", s.writing ? "write" : "read"},
                          {"workload",
                           {{"name", s.workload.name},
                            {"bytes_per_rank", s.workload.bytes_per_rank},
                            {"piece", model.workload().parameters().piece},
                            {"calls", model.workload().calls()}}},
                          {"machine",
                           {{"ranks", m.ranks},
                            {"nodes", model.topology().nodes()},
                            {"cores", m.cores},
                            {"link_latency_s", m.between.latency_s},
                            {"link_bandwidth_Bps", m.between.bandwidth},
                            {"inside_latency_s", m.inside.latency_s},
                            {"inside_bandwidth_Bps", m.inside.bandwidth},
                            {"servers", m.servers.count},
                            {"stripe_bytes", m.servers.unit},
                            {"server_bandwidth_Bps", m.servers.bandwidth},
                            {"seek_s", m.servers.seek_s}}},
                          {"predictions", nlohmann::json::array()}};
  for (const auto& p : predictions) document["predictions"].push_back(json_of(p));
  return document.dump(1) + "\n";
}

}  // namespace choir::model
