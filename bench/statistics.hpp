// statistics.hpp: best, median and spread of a few repetitions.
#pragma once

#include <algorithm>
#include <vector>

#include "common/paired.hpp"

namespace choir::bench {

struct Summary {
  double best = 0;
  double median = 0;
  double spread = 0;  // (third quartile - first quartile) / median
};

inline Summary summarize(const std::vector<double>& seconds) {
  if (seconds.empty()) return {};
  return {*std::min_element(seconds.begin(), seconds.end()), tools::median(seconds),
          tools::spread(seconds)};
}

}  // namespace choir::bench
