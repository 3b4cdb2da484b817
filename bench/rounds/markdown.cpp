// markdown.cpp: the tables of evaluate.hpp for people.
#include <fmt/format.h>

#include "evaluate.hpp"

namespace choir::rounds {
namespace {

std::string ms(double seconds) { return fmt::format("{:.2f}", seconds * 1e3); }

std::string at(const std::map<int, double>& ratios, int run) {
  const auto found = ratios.find(run);
  return found == ratios.end() ? "-" : fmt::format("{:.2f}", found->second);
}

std::string total(const std::map<int, Figures>& figures, int run) {
  const auto found = figures.find(run);
  return found == figures.end() ? "-" : ms(found->second.total_s);
}

std::string total(const Row& row, const std::string& contender) {
  const auto found = row.fixed.find(contender);
  if (found == row.fixed.end()) return "-";
  const auto& [name, figures] = *found;
  // A strategy that does not apply is served by another, which is named.
  const bool other = !figures.strategy.empty() && figures.strategy != name;
  return ms(figures.total_s) + (other ? " (" + figures.strategy + ")" : "");
}

/// Open, calls, close and sync of native and of auto's fourth run.
std::string parts(const Row& row) {
  const auto native = row.fixed.find("host");
  const auto late = row.automatic.find(kRuns);
  if (native == row.fixed.end() || late == row.automatic.end()) return "- | - | - | -";
  const auto& a = native->second;
  const auto& b = late->second;
  return fmt::format("{} / {} | {} / {} | {} / {} | {} / {}", ms(a.open_s), ms(b.open_s),
                     ms(a.calls_s), ms(b.calls_s), ms(a.close_s), ms(b.close_s), ms(a.sync_s),
                     ms(b.sync_s));
}

std::string served(const Row& row) {
  const auto late = row.automatic.find(kRuns);
  return late == row.automatic.end() || late->second.strategy.empty() ? "-" : late->second.strategy;
}

std::string_view word(Target::Outcome outcome) {
  switch (outcome) {
    case Target::Outcome::met:
      return "met";
    case Target::Outcome::missed:
      return "**missed**";
    case Target::Outcome::not_measured:
      break;
  }
  return "-";
}

}  // namespace

std::string markdown_of(const std::vector<Row>& rows) {
  std::string text =
      "| MPI | ranks | pattern | mode | native ms | two_phase ms | individual ms | mapped ms | "
      "best | "
      "auto ms, run 1 | 2 | 4 | auto / native, run 1 | auto / best, run 1 | 2 | 4 | served run 4 | "
      "open ms, native / auto | calls | close | sync |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& row : rows)
    text += fmt::format(
        "| {} | {} | {} | {}{} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | "
        "{} "
        "|\n",
        row.mpi, row.ranks, row.pattern, row.mode, row.joint ? ", joint" : "", total(row, "host"),
        total(row, "two_phase"), total(row, "individual"), total(row, "mapped"),
        row.best == "host" ? "native" : row.best, total(row.automatic, 1), total(row.automatic, 2),
        total(row.automatic, kRuns), at(row.against_native, 1), at(row.against_best, 1),
        at(row.against_best, 2), at(row.against_best, kRuns), served(row), parts(row));
  return text;
}

std::string markdown_of(const std::vector<Target>& targets) {
  std::string text = "| what | wanted | reached | |\n|---|---|---|---|\n";
  for (const auto& target : targets)
    text += fmt::format("| {} | {} | {} | {} |\n", target.what, target.wanted, target.reached,
                        word(target.outcome));
  return text;
}

}  // namespace choir::rounds
