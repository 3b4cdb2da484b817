#include "report.hpp"

#include <fmt/format.h>

#include <cmath>

namespace choir::compare {
namespace {

using tools::Verdict;

/// More files than this are summed up in one line: nobody reads a table of a thousand.
constexpr std::size_t kFilesShown = 12;

std::vector<double> times(const std::vector<tools::Pair>& pairs, double tools::Pair::*side) {
  std::vector<double> seconds;
  for (const auto& pair : pairs) seconds.push_back(pair.*side);
  return seconds;
}

std::string interval(const tools::Ratio& ratio) {
  if (!std::isfinite(ratio.high)) return "unknown";
  return fmt::format("{:.2f} to {:.2f}", ratio.low, ratio.high);
}

std::string line(const Row& row) {
  const auto ratio = row.ratio();
  const auto label = row.name.empty() ? row.how : row.name + " " + row.how;
  return fmt::format("  {:<34} {:>9} {:>9} {:>7.2f}  {:<15} {:<10} {}\n", label,
                     seconds_text(row.native_s()), seconds_text(row.choir_s()), ratio.estimate,
                     interval(ratio), name_of(judge(ratio)), name_of(row.bytes));
}

std::string script_line(const Row& row) {
  const auto ratio = row.ratio();
  return fmt::format("{}\t{:.6f}\t{:.6f}\t{:.4f}\t{:.4f}\t{:.4f}\t{}\t{}\t{}\n", row.how,
                     row.native_s(), row.choir_s(), ratio.estimate, ratio.low, ratio.high,
                     name_of(judge(ratio)), name_of(row.bytes), row.name);
}

/// "1.9 times as fast (1.7 to 2.1)"; of a slower one how much longer it takes.
std::string amount(const tools::Ratio& ratio) {
  if (ratio.estimate >= 1)
    return fmt::format("{:.2f} times as fast ({})", ratio.estimate, interval(ratio));
  return fmt::format("takes {:.2f} times as long ({:.2f} to {:.2f})", 1 / ratio.estimate,
                     1 / ratio.high, 1 / ratio.low);
}

std::string whole_run(const Row& whole) {
  const auto verdict = judge(whole.ratio());
  if (verdict == Verdict::unclear) return "Of the whole run it cannot be said.";
  if (verdict == Verdict::equal) return "The whole run takes as long as natively.";
  return fmt::format("The whole run {}{}.", verdict == Verdict::faster ? "is " : "",
                     amount(whole.ratio()));
}

}  // namespace

double Row::native_s() const { return tools::median(times(pairs, &tools::Pair::native_s)); }
double Row::choir_s() const { return tools::median(times(pairs, &tools::Pair::choir_s)); }

std::string seconds_text(double seconds) {
  if (seconds < 0.01) return fmt::format("{:.2f} ms", seconds * 1e3);
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string_view name_of(Bytes bytes) {
  switch (bytes) {
    case Bytes::identical:
      return "identical";
    case Bytes::differ:
      return "DIFFER";
    case Bytes::vary:
      return "vary natively too";
    case Bytes::none:
      break;
  }
  return "-";
}

std::string where_it_lies(const Parts& native, const Parts& choir) {
  struct Part {
    const char* name;
    double native_s, choir_s;
  };
  const Part parts[] = {{"opening", native.open_s, choir.open_s},
                        {"the calls between open and close", native.calls_s, choir.calls_s},
                        {"closing", native.close_s, choir.close_s}};
  const Part* most = &parts[0];
  for (const auto& part : parts)
    if (std::abs(part.native_s - part.choir_s) > std::abs(most->native_s - most->choir_s))
      most = &part;
  return fmt::format("Most of the difference lies in {}: {} natively, {} under choir.", most->name,
                     seconds_text(most->native_s), seconds_text(most->choir_s));
}

std::string sentence_of(const Findings& findings) {
  if (findings.files.empty())
    return "Not faster: the program opened no file through MPI-IO, or never closed one.";
  const auto ratio = findings.all.ratio();
  switch (judge(ratio)) {
    case Verdict::faster:
      return fmt::format("Faster: under choir the program's file operations are {}. {} {}",
                         amount(ratio), where_it_lies(findings.native, findings.choir),
                         whole_run(findings.whole));
    case Verdict::slower:
      return fmt::format(
          "Not faster: under choir the program's file operations take {:.2f} times "
          "as long ({:.2f} to {:.2f}). {}",
          1 / ratio.estimate, 1 / ratio.high, 1 / ratio.low,
          where_it_lies(findings.native, findings.choir));
    case Verdict::equal:
      return fmt::format(
          "Not faster: with choir the program's file operations take as long as "
          "without it (the ratio lies within {}).",
          interval(ratio));
    case Verdict::unclear:
      break;
  }
  return fmt::format(
      "Too noisy to tell: after {} pairs of runs the ratio may be anything within "
      "{}: {}. Try again on a quiet machine, or with more data.",
      ratio.pairs, interval(ratio), tools::why_unclear(findings.all.pairs, findings.others_share));
}

std::string table_of(const Findings& findings) {
  auto text = fmt::format("  {:<34} {:>9} {:>9} {:>7}  {:<15} {:<10} {}\n", "", "native", "choir",
                          "ratio", "99 % interval", "choir is", "bytes");
  for (std::size_t i = 0; i < findings.files.size() && i < kFilesShown; ++i)
    text += line(findings.files[i]);
  if (findings.files.size() > kFilesShown)
    text += fmt::format("  and {} more\n", findings.files.size() - kFilesShown);
  if (findings.files.size() != 1 && !findings.files.empty()) text += line(findings.all);
  text += line(findings.whole);
  for (const auto& row : findings.files)
    if (row.bytes == Bytes::differ) text += fmt::format("  {}: {}\n", row.name, row.difference);
  return text;
}

std::string lines_of(const Findings& findings) {
  std::string text;
  for (const auto& row : findings.files) text += script_line(row);
  return text + script_line(findings.all) + script_line(findings.whole);
}

}  // namespace choir::compare
