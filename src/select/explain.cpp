#include "select/explain.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "select/arithmetic.hpp"
#include "select/numbers.hpp"

namespace choir::select {
namespace {

template <class... Arguments>
std::string formatted(const char* format, Arguments... arguments) {
  char text[256];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

std::string rate(double seconds_per_byte) {
  const double mib = 1 / seconds_per_byte / (1 << 20);
  return mib >= 1024 ? formatted("%.1f GiB/s", mib / 1024) : formatted("%.0f MiB/s", mib);
}

std::string how_sure(const Rival& rival) {
  const double count = rival.count();
  const int more = static_cast<int>(std::ceil(numbers::enough - count));
  const double doubt = ln(count < 1.5 ? numbers::single_doubt : numbers::double_doubt);
  const char* const plural = rival.samples.size() == 1 ? "" : "s";
  auto text = formatted("%zu comparison%s", rival.samples.size(), plural);
  if (count >= numbers::enough) return text + ", which is enough";
  if (rival.middle() - doubt >= -numbers::margin) return text + ", clear enough";
  return text + formatted(", not sure yet: %d more wanted", more);
}

std::string rival_line(const Rival& rival, double cost) {
  const double ratio = exp(rival.middle());
  auto text = rival.name + formatted(" takes %.2f times as long", ratio);
  if (cost > 0) text += " (" + rate(cost * ratio) + ")";
  return text + "; " + how_sure(rival);
}

}  // namespace

std::vector<std::string> explain_comparisons(const Evidence& evidence) {
  const double cost = evidence.cost();
  std::vector<std::string> lines;
  auto first = evidence.serves + " serves";
  if (cost > 0) first += ", at " + rate(cost);
  lines.push_back(first + formatted("; %.0f calls of this class so far", evidence.calls));
  auto sorted = evidence.rivals;
  std::sort(sorted.begin(), sorted.end(),
            [](const Rival& a, const Rival& b) { return a.middle() < b.middle(); });
  for (const auto& rival : sorted) lines.push_back(rival_line(rival, cost));
  if (sorted.empty()) lines.emplace_back("no other strategy was compared with it yet");
  return lines;
}

std::vector<std::string> explain(const Evidence& evidence) {
  auto lines = explain_comparisons(evidence);
  if (evidence.time_s > 0)
    lines.push_back(formatted("looks at others have cost %.1f %% of the time (limit %.0f %%)",
                              100 * evidence.lost_s / evidence.time_s,
                              100 * (evidence.compared ? numbers::late_share : numbers::share)));
  return lines;
}

}  // namespace choir::select
