// choir-explain: what a trace says, in the terminal.
#include "select/explain.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "advice.hpp"
#include "common/output.hpp"
#include "common/version.hpp"

namespace {

using namespace choir::report;

void print_overview(const Summary& s) {
  fmt::print("{} calls, {} in {} of collective I/O ({}/s), {} files, {} patterns\n", s.calls,
             human_bytes(static_cast<double>(s.bytes)), human_seconds(s.seconds),
             human_bytes(s.seconds > 0 ? static_cast<double>(s.bytes) / s.seconds : 0),
             s.files.size(), s.patterns.size());
  const auto percent = [&](double part) {
    return s.phases.total > 0 ? 100 * part / s.phases.total : 0.0;
  };
  fmt::print(
      "time: agree {:.0f} %, plan {:.0f} %, exchange {:.0f} %, storage {:.0f} %, wait {:.0f} %\n",
      percent(s.phases.agree), percent(s.phases.plan), percent(s.phases.exchange),
      percent(s.phases.storage), percent(s.phases.wait));
}

void print_patterns(const Summary& s) {
  constexpr std::size_t most = 10;
  for (std::size_t i = 0; i < std::min(most, s.patterns.size()); ++i) {
    const auto& p = s.patterns[i];
    fmt::print("\n{} {}, {}: {} calls, {}, served by {}{}\n", p.operation, p.file,
               p.words.empty() ? p.signature : p.words, p.calls,
               human_bytes(static_cast<double>(p.bytes)), p.last_strategy,
               p.last_reason.empty() ? "" : " (" + p.last_reason + ")");
    for (const auto& [name, result] : p.strategies)
      fmt::print("  {:<22} {:>12}/s  {} calls\n", name, human_bytes(result.bytes_per_s()),
                 result.calls);
    if (p.evidence.serves.empty()) continue;
    fmt::print("  by these calls alone:\n");
    for (const auto& line : choir::select::explain_comparisons(p.evidence))
      fmt::print("    {}\n", line);
  }
  if (s.patterns.size() > most)
    fmt::print("\n... and {} patterns that took less time\n", s.patterns.size() - most);
}

void print_advice(const std::vector<Advice>& advice) {
  fmt::print("\n");
  for (const auto& a : advice) {
    const char* mark = a.weight == Weight::warning ? "!" : a.weight == Weight::hint ? "-" : "+";
    fmt::print("{} {}\n", mark, a.finding);
    if (!a.action.empty()) fmt::print("  {}\n", a.action);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Explains a choir trace in the terminal", "choir explain"};
  choir::tools::add_version(app);
  std::string path;
  app.add_option("TRACE", path, "folder given as CHOIR_TRACE, or one rank's file")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    const auto trace = load_trace(path);
    const auto summary = summarise(trace);
    print_overview(summary);
    print_patterns(summary);
    print_advice(advise(trace, summary));
    choir::tools::finish_output();
  } catch (const std::exception& e) {
    fmt::print(stderr, "choir explain: {}\n", e.what());
    return 1;
  }
  return 0;
}
