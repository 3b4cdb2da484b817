#include "select/knowledge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace choir::select {

double median(std::span<const double> values) {
  std::array<double, 64> sorted{};
  const auto count = std::min(values.size(), sorted.size());
  std::copy_n(values.end() - static_cast<std::ptrdiff_t>(count), count, sorted.begin());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", share * 100);
  return text;
}

double known_cost(const State& s, int i) {
  return s.phase == Phase::serving && i == s.winner && s.reference > 0 ? s.reference
                                                                       : s.candidates[i].cost();
}

int best_measured(const State& s) {
  int best = nobody;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i) {
    const auto& c = s.candidates[i];
    if (!c.applicable() || !c.measured()) continue;
    if (best == nobody || known_cost(s, i) < known_cost(s, best)) best = i;
  }
  return best;
}

int find_name(const State& s, std::string_view name) {
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (s.candidates[i].name == name && s.candidates[i].applicable()) return i;
  return nobody;
}

bool seen_cold_only(const State& s, int i) {
  const auto& c = s.candidates[i];
  if (c.warm || c.costs.size() != 1) return false;
  return c.cold_calls > 0 || (i == s.cold && s.examinations == 0);
}

double cost_per_estimate(const State& s) {
  double product = 1;
  int n = 0;
  const auto measured = std::count_if(s.candidates.begin(), s.candidates.end(),
                                      [](const CandidateState& c) { return c.measured(); });
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i) {
    const auto& c = s.candidates[i];
    if (!c.applicable() || !c.measured() || c.estimate_s <= 0) continue;
    if (measured > 1 && seen_cold_only(s, i)) continue;
    product *= c.cost() / c.estimate_s;
    ++n;
  }
  // For one, as after short calls, libm's code and tables would be far away.
  return n > 1 ? std::pow(product, 1.0 / n) : product;
}

namespace {

/// What a candidate would take that a change of the machine did not touch: as the winner until
/// then, and what it was estimated to take beyond it.
double untouched(const State& s, const CandidateState& c) {
  return s.calm_cost + std::max(0.0, c.estimate_s - s.calm_estimate_s) * s.second;
}

}  // namespace

double predicted_later(const State& s, int i, double scale) {
  const auto& c = s.candidates[i];
  if (seen_cold_only(s, i)) return std::min(c.cost(), c.estimate_s * scale);
  if (c.measured()) return known_cost(s, i);
  if (c.known_cost > 0) return c.known_cost;
  const double usual = c.estimate_s * scale;
  return s.calm_cost > 0 ? std::min(usual, untouched(s, c)) : usual;
}

double predicted(const State& s, int i, double scale) {
  const auto& c = s.candidates[i];
  const bool first = !c.measured() && c.known_cost == 0 && c.debut == Debut::costly;
  return predicted_later(s, i, scale) + (first ? s.first_look : 0);
}

double scatter(const State& s) {
  double squares = 0;
  int degrees = 0;
  for (const auto& c : s.candidates) {
    const double mean = c.measured() ? c.cost() : 0;
    for (const double cost : c.costs) {
      const double off = std::min(1.0, cost / mean - 1);  // one hiccup is not scatter
      squares += off * off;
    }
    degrees += std::max(0, static_cast<int>(c.costs.size()) - 1);
  }
  return std::max(s.noise, degrees ? std::sqrt(squares / degrees) : 0);
}

double leading_cost(const State& s) {
  const int best = best_measured(s);
  return best == nobody ? 0 : known_cost(s, best);
}

bool CandidateState::applicable() const { return std::isfinite(estimate_s); }

void Costs::add(double cost, std::size_t most) {
  values_.push_back(cost);
  if (values_.size() > most) values_.erase(values_.begin());
  const double limit = 2 * (values_.size() > 2 ? median(values_)
                                               : *std::min_element(values_.begin(), values_.end()));
  double total = 0;
  int counted = 0;
  for (const double value : values_) {
    if (value > limit) continue;
    total += value;
    ++counted;
  }
  mean_ = total / counted;
}

void Costs::keep_only(double cost) {
  values_.assign(1, cost);
  mean_ = cost;
}

double CandidateState::bytes_per_s() const {
  const double known = cost();
  return known > 0 ? 1 / known : 0;
}

}  // namespace choir::select
