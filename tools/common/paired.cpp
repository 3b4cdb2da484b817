#include "paired.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace choir::tools {
namespace {

/// From this share of the processors on, other programs explain a scatter of the times.
constexpr double kBusy = 0.1;

std::vector<double> log_ratios(const std::vector<Pair>& pairs) {
  std::vector<double> logs;
  for (const auto& pair : pairs)
    if (pair.native_s > 0 && pair.choir_s > 0)
      logs.push_back(std::log(pair.native_s / pair.choir_s));
  return logs;
}

/// Means of all pairs of values, each with itself too; sorted.
std::vector<double> walsh_averages(const std::vector<double>& values) {
  std::vector<double> averages;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) averages.push_back((values[i] + values[j]) / 2);
  std::sort(averages.begin(), averages.end());
  return averages;
}

/// How many of the smallest averages lie outside an interval of this error: the largest k with
/// P(W < k) <= error / 2 for the signed-rank sum W of n values. 0: there is no such interval.
std::size_t averages_outside(std::size_t n, double error) {
  std::vector<double> ways(n * (n + 1) / 2 + 1, 0);  // subsets of 1..n with this sum
  ways[0] = 1;
  for (std::size_t rank = 1; rank <= n; ++rank)
    for (std::size_t sum = ways.size() - 1; sum >= rank; --sum) ways[sum] += ways[sum - rank];
  const double all = std::pow(2.0, static_cast<double>(n));
  double below = 0;
  for (std::size_t k = 0; k < ways.size(); ++k) {
    below += ways[k] / all;
    if (below > error / 2) return k;
  }
  return 0;
}

}  // namespace

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (position - static_cast<double>(below));
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  return middle > 0 ? (quantile(values, 0.75) - quantile(values, 0.25)) / middle : 0;
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Ratio ratio_of(const std::vector<Pair>& pairs, double error) {
  const auto averages = walsh_averages(log_ratios(pairs));
  Ratio ratio{1, 0, std::numeric_limits<double>::infinity(), log_ratios(pairs).size()};
  if (averages.empty()) return ratio;
  ratio.estimate = std::exp(median(averages));
  const auto outside = averages_outside(ratio.pairs, error);
  if (outside == 0) return ratio;
  ratio.low = std::exp(averages[outside - 1]);
  ratio.high = std::exp(averages[averages.size() - outside]);
  return ratio;
}

Verdict judge(const Ratio& ratio) {
  if (ratio.low >= 1 / kEqual && ratio.high <= kEqual) return Verdict::equal;
  if (ratio.low > 1) return Verdict::faster;
  if (ratio.high < 1) return Verdict::slower;
  return Verdict::unclear;
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::equal:
      return "equal";
    case Verdict::slower:
      return "slower";
    case Verdict::unclear:
      break;
  }
  return "too noisy";
}

bool is_look(std::size_t pairs) {
  return std::find(std::begin(kLooks), std::end(kLooks), pairs) != std::end(kLooks);
}

std::string why_unclear(const std::vector<Pair>& pairs, double others_share) {
  if (pairs.size() < kLooks[0])
    return fmt::format("time was for {} of the {} pairs of runs that an answer needs", pairs.size(),
                       kLooks[0]);
  std::vector<double> native, choir;
  for (const auto& pair : pairs) {
    native.push_back(pair.native_s);
    choir.push_back(pair.choir_s);
  }
  auto text = fmt::format("the times scatter (natively by {:.0f} %, under choir by {:.0f} %)",
                          spread(native) * 100, spread(choir) * 100);
  if (others_share > kBusy)
    text += fmt::format("; other programs used {:.0f} % of the processors meanwhile",
                        others_share * 100);
  return text;
}

}  // namespace choir::tools
