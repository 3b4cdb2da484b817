// costs.hpp: from times to the figures of a machine. Pure.
#pragma once

#include <array>
#include <vector>

#include "plan/machine_costs.hpp"
#include "works.hpp"

namespace choir::measure {

/// What so many processes took, in all rounds.
struct Sample {
  int members = 1;
  std::array<std::vector<double>, figures> seconds;
};

/// Whatever else runs makes a round slower, never faster; the very fastest is luck.
double lower_quartile(std::vector<double> values);

/// The cost that comes closest to the seconds of one unit with so many at it (1, 2, 4, ...).
struct UnitTime {
  double members, seconds;
};
SharedCost shared_cost(const std::vector<UnitTime>& times);

/// The figures of the samples; `amounts` says what each timed work moved. What is not measured
/// keeps what is compiled in.
MachineCosts costs_from(const std::vector<Sample>& samples,
                        const std::array<Amount, figures>& amounts);

}  // namespace choir::measure
