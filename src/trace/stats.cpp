// stats.cpp: summing and printing.
#include "trace/stats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "select/explain.hpp"

namespace choir::trace {

namespace {

constexpr std::array summed{&SignatureTotals::bytes,        &SignatureTotals::pieces,
                            &SignatureTotals::bytes_inside, &SignatureTotals::bytes_between,
                            &SignatureTotals::bytes_sieved, &SignatureTotals::storage_requests,
                            &SignatureTotals::storage_bytes};
constexpr std::array timed{&Times::total,    &Times::agree,   &Times::plan,
                           &Times::exchange, &Times::storage, &Times::wait};

template <class... Arguments>
std::string formatted(const char* format, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

std::string share(double part, double whole) {
  return whole > 0 ? formatted("%.0f%%", 100 * part / whole) : "-";
}

std::string throughput(double bytes, double seconds) {
  return seconds > 0 ? human_bytes(bytes / seconds) + "/s" : "-";
}

std::string time_line(const Times& t) {
  return formatted("    time %s: agree %s, plan %s, exchange %s, storage %s, wait %s\n",
                   human_seconds(t.total).c_str(), share(t.agree, t.total).c_str(),
                   share(t.plan, t.total).c_str(), share(t.exchange, t.total).c_str(),
                   share(t.storage, t.total).c_str(), share(t.wait, t.total).c_str());
}

std::string data_line(const SignatureTotals& s) {
  auto line =
      formatted("    moved %s inside nodes, %s between; %lld cycles, %lld storage requests",
                human_bytes(static_cast<double>(s.bytes_inside)).c_str(),
                human_bytes(static_cast<double>(s.bytes_between)).c_str(),
                static_cast<long long>(s.cycles), static_cast<long long>(s.storage_requests));
  line += ", holes sieved " + human_bytes(static_cast<double>(s.bytes_sieved));
  line +=
      ", plans reused " + share(static_cast<double>(s.cached_plans), static_cast<double>(s.calls));
  if (s.errors > 0) line += formatted(", %lld failed", static_cast<long long>(s.errors));
  return line + "\n";
}

std::string signature_block(std::uint64_t signature, const SignatureTotals& s,
                            const select::Evidence* known) {
  auto text = formatted(
      "  %s (%s, %016llx): %lld calls, %s in %lld pieces, ",
      s.pattern.empty() ? "calls that failed" : s.pattern.c_str(), s.operation.c_str(),
      static_cast<unsigned long long>(signature), static_cast<long long>(s.calls),
      human_bytes(static_cast<double>(s.bytes)).c_str(), static_cast<long long>(s.pieces));
  text += throughput(static_cast<double>(s.bytes), s.seconds.total) + "\n";
  text += "    " + s.strategy + " (" + s.phase + (s.reason.empty() ? "" : ": " + s.reason) + ")\n";
  if (known != nullptr)
    for (const auto& line : select::explain(*known)) text += "    " + line + "\n";
  return text + time_line(s.seconds) + data_line(s);
}

}  // namespace

std::string human_bytes(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return formatted(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds >= 1) return formatted("%.2f s", seconds);
  if (seconds >= 1e-3) return formatted("%.1f ms", seconds * 1e3);
  return formatted("%.1f us", seconds * 1e6);
}

void Totals::add(const CallRecord& r) {
  auto& s = signatures_[r.signature];
  s.operation = r.operation;
  s.pattern = r.pattern;
  s.strategy = r.strategy;
  s.phase = r.phase;
  s.reason = r.reason;
  ++s.calls;
  s.cached_plans += r.plan_cached;
  s.errors += r.error_class != 0;
  s.cycles += r.cycles;
  s.bytes += r.bytes;
  s.pieces += r.pieces;
  s.bytes_inside += r.bytes_inside;
  s.bytes_between += r.bytes_between;
  s.bytes_sieved += r.bytes_sieved;
  s.storage_requests += r.storage_requests;
  s.storage_bytes += r.storage_bytes;
  for (const auto part : timed) s.seconds.*part += r.seconds.*part;
}

std::vector<double> Totals::sums() const {
  std::vector<double> flat;
  for (const auto& [signature, s] : signatures_)
    for (const auto part : summed) flat.push_back(static_cast<double>(s.*part));
  return flat;
}

void Totals::set_sums(std::span<const double> combined) {
  if (combined.size() != signatures_.size() * summed.size()) return;
  auto next = combined.begin();
  for (auto& [signature, s] : signatures_)
    for (const auto part : summed) s.*part = static_cast<std::int64_t>(*next++);
}

std::vector<double> Totals::maxima() const {
  std::vector<double> flat;
  for (const auto& [signature, s] : signatures_) {
    for (const auto part : timed) flat.push_back(s.seconds.*part);
    flat.push_back(static_cast<double>(s.cycles));
  }
  return flat;
}

void Totals::set_maxima(std::span<const double> combined) {
  if (combined.size() != signatures_.size() * (timed.size() + 1)) return;
  auto next = combined.begin();
  for (auto& [signature, s] : signatures_) {
    for (const auto part : timed) s.seconds.*part = *next++;
    s.cycles = static_cast<std::int64_t>(*next++);
  }
}

std::string stats_table(const StatsHeader& header, const Totals& totals,
                        const KnownClasses& known) {
  std::string text = "choir: " + header.file;
  text += formatted(" (%d ranks", header.ranks);
  if (header.nodes > 0) text += formatted(" on %d nodes", header.nodes);
  text += ")\n";
  if (totals.empty()) text += "  no collective call\n";
  for (const auto& [signature, s] : totals.signatures())
    text +=
        signature_block(signature, s, known.contains(signature) ? &known.at(signature) : nullptr);
  for (std::size_t reason = 1; reason < left_reasons; ++reason)
    if (const auto calls = totals.left()[reason]; calls > 0)
      text.append("  ").append(left_line(calls, text_of(static_cast<Left>(reason)))).append("\n");
  text += "  hints:";
  for (const auto& [key, value] : header.hints)
    text.append(" ").append(key).append("=").append(value);
  return text + (header.hints.empty() ? " none\n" : "\n");
}

}  // namespace choir::trace
