// knowledge.hpp: what the calls so far tell about the candidates of one signature.
//
// Pure functions of a State. Costs are seconds per byte.
#pragma once

#include <cmath>

#include "select/selector.hpp"

namespace choir::select {

inline constexpr int nobody = -1;

/// Of the last 64. Called after every serving call: no memory is asked for.
double median(std::span<const double> values);
/// "12 %"
std::string percent(double share);
/// What a candidate costs as far as known; of a serving winner many calls are.
double known_cost(const State& s, int i);
/// Index of the measured candidate with the least cost; `nobody` when nothing is measured.
int best_measured(const State& s);
/// The same by estimate, of anything that has one; infinite ones do not count.
template <class Candidates>
int least_estimated(const Candidates& candidates) {
  int best = nobody;
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i)
    if (std::isfinite(candidates[i].estimate_s) &&
        (best == nobody || candidates[i].estimate_s < candidates[best].estimate_s))
      best = i;
  return best;
}
inline int best_estimated(const State& s) { return least_estimated(s.candidates); }
int find_name(const State& s, std::string_view name);
/// Only seen when buffers, mappings or file blocks were new: on the very first call, or where a
/// candidate that prepares things had not been before.
bool seen_cold_only(const State& s, int i);
/// What one estimated second has cost so far: turns estimates into costs. 1 before any
/// measurement, when only the ratio of estimates matters.
double cost_per_estimate(const State& s);
/// What the next call of a candidate would cost.
double predicted(const State& s, int i, double scale);
/// The same once it has all it needs.
double predicted_later(const State& s, int i, double scale);
/// Relative scatter of single calls: in service, or pooled over the calls of the examination.
double scatter(const State& s);
double leading_cost(const State& s);

}  // namespace choir::select
