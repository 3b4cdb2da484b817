// statistics.hpp: best, median and spread of a few repetitions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace choir::bench {

/// Linear between the two nearest of the sorted values; part in [0, 1].
inline double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (position - static_cast<double>(below));
}

struct Summary {
  double best = 0;
  double median = 0;
  double spread = 0;  // (third quartile - first quartile) / median
};

inline Summary summarize(const std::vector<double>& seconds) {
  if (seconds.empty()) return {};
  const double median = quantile(seconds, 0.5);
  const double range = quantile(seconds, 0.75) - quantile(seconds, 0.25);
  return {*std::min_element(seconds.begin(), seconds.end()), median,
          median > 0 ? range / median : 0};
}

}  // namespace choir::bench
