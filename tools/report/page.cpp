// page.cpp: turns the summary into the data that page.js draws.
#include "page.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "embedded.hpp"

namespace choir::report {

namespace {

using Json = nlohmann::json;

constexpr std::size_t most_points = 4000;  // more dots than pixels help nobody
constexpr std::size_t most_patterns = 12;  // bars that fit a screen
constexpr std::size_t most_files = 20;

Json json_times(const Times& t) {
  return {{"total", t.total},       {"agree", t.agree},     {"plan", t.plan},
          {"exchange", t.exchange}, {"storage", t.storage}, {"wait", t.wait}};
}

Json timeline(const Trace& trace, const Summary& summary) {
  Json points = Json::array();
  const auto step = (trace.calls.size() + most_points - 1) / most_points;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const auto& call = trace.calls[i];
    // Examinations are few and what people look for: thinning keeps them.
    if (i % step != 0 && call.phase != "looking") continue;
    points.push_back({{"t", call.start_s() - summary.begin_s},
                      {"s", call.seconds()},
                      {"bytes", call.bytes()},
                      {"strategy", call.strategy},
                      {"phase", call.phase},
                      {"operation", call.operation},
                      {"file", trace.files[static_cast<std::size_t>(call.file)].name},
                      {"call", call.number}});
  }
  return points;
}

Json json_patterns(const Summary& summary) {
  Json patterns = Json::array();
  for (const auto& p : summary.patterns) {
    if (patterns.size() == most_patterns) break;
    Json strategies = Json::object();
    for (const auto& [name, r] : p.strategies)
      strategies[name] = {{"calls", r.calls}, {"bytes_per_s", r.bytes_per_s()}};
    patterns.push_back({{"file", p.file},
                        {"operation", p.operation},
                        {"signature", p.signature},
                        {"calls", p.calls},
                        {"bytes", p.bytes},
                        {"pieces", p.pieces},
                        {"seconds", p.seconds},
                        {"phases", json_times(p.phases)},
                        {"strategies", strategies},
                        {"strategy", p.last_strategy},
                        {"reason", p.last_reason}});
  }
  return patterns;
}

Json json_heat(const HeatMap& heat) {
  return {{"low", heat.low},
          {"high", heat.high},
          {"ranks_per_row", heat.ranks_per_row},
          {"bytes", heat.bytes}};
}

Json json_files(const Summary& summary) {
  Json files = Json::array();
  for (const auto& f : summary.files) {
    if (files.size() == most_files) break;
    Json load = Json::array();
    for (std::size_t r = 0; r < f.load.size(); ++r)
      if (f.load[r].aggregated_calls > 0)
        load.push_back({{"rank", r},
                        {"bytes", f.load[r].storage_bytes},
                        {"seconds", f.load[r].storage_s},
                        {"requests", f.load[r].storage_requests}});
    files.push_back({{"name", f.name},
                     {"mode", f.mode},
                     {"file_system", f.file_system},
                     {"ranks", f.ranks},
                     {"nodes", f.nodes},
                     {"hints", f.hints},
                     {"calls", f.calls},
                     {"bytes", f.bytes},
                     {"aggregators", load},
                     {"heat", json_heat(f.heat)}});
  }
  return files;
}

Json json_advice(const std::vector<Advice>& advice) {
  Json all = Json::array();
  for (const auto& a : advice) {
    const char* weight = a.weight == Weight::warning ? "warning"
                         : a.weight == Weight::hint  ? "hint"
                                                     : "good";
    all.push_back({{"id", a.id}, {"weight", weight}, {"finding", a.finding}, {"action", a.action}});
  }
  return all;
}

Json page_data(const std::string& title, const Trace& trace, const Summary& s,
               const std::vector<Advice>& advice) {
  return {{"title", title},
          {"calls", s.calls},
          {"bytes", s.bytes},
          {"seconds", s.seconds},
          {"span", s.end_s - s.begin_s},
          {"bytes_inside", s.bytes_inside},
          {"bytes_between", s.bytes_between},
          {"bytes_sieved", s.bytes_sieved},
          {"cached_plans", s.cached_plans},
          {"examining", s.examining_s},
          {"pattern_count", s.patterns.size()},
          {"file_count", s.files.size()},
          {"rank_files", trace.rank_files},
          {"phases", json_times(s.phases)},
          {"timeline", timeline(trace, s)},
          {"patterns", json_patterns(s)},
          {"files", json_files(s)},
          {"advice", json_advice(advice)}};
}

/// Inside a script element the text "</" could end it, whatever a file is called.
std::string safe_in_script(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos; at += 6)
    json.replace(at, 1, "\\u003c");
  return json;
}

/// Puts `part` in the place of the one `mark`; parts may contain anything, so none is searched.
void put(std::string& page, std::string_view mark, std::string_view part, std::size_t& from) {
  const auto at = page.find(mark, from);
  if (at == std::string::npos) throw std::logic_error("the page lacks " + std::string(mark));
  page.replace(at, mark.size(), part);
  from = at + part.size();
}

}  // namespace

std::string render_page(const std::string& title, const Trace& trace, const Summary& summary,
                        const std::vector<Advice>& advice) {
  const auto data =
      page_data(title, trace, summary, advice).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string page(embedded_page_html());
  std::size_t from = 0;
  put(page, "/*CSS*/", embedded_page_css(), from);
  put(page, "/*DATA*/", safe_in_script(data), from);
  put(page, "/*CHART*/", embedded_chart_js(), from);
  put(page, "/*PAGE*/", embedded_page_js(), from);
  return page;
}

}  // namespace choir::report
