#include "select/warmth.hpp"

#include <algorithm>

#include "select/examination.hpp"
#include "select/knowledge.hpp"

namespace choir::select {

void note_cold_ones(State& s, std::span<const Candidate> candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) s.candidates[i].cold_now = candidates[i].cold;
}

bool pointless_here(const CandidateState& c) {
  constexpr int enough = 2;
  return c.cold_now && (c.warm || c.cold_calls >= enough);
}

bool waits_for_warmth(const Policy& p, const State& s, int i) {
  const auto& c = s.candidates[i];
  return i != s.winner && c.cold_calls > 0 && seen_cold_only(s, i) &&
         contends(p, s, i, leading_cost(s), scatter(s));
}

bool warm_look(const Policy& p, const State& s) {
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (!s.candidates[i].cold_now && waits_for_warmth(p, s, i) && affordable(p, s, i)) return true;
  return false;
}

namespace {

/// The best of those whose times do not depend on what was prepared; the winner if there is none.
int runner_up(const State& s) {
  int best = nobody;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i) {
    const auto& c = s.candidates[i];
    if (i == s.winner || !c.applicable() || !c.measured() || c.cold_calls > 0) continue;
    if (best == nobody || c.cost() < s.candidates[best].cost()) best = i;
  }
  return best == nobody ? s.winner : best;
}

}  // namespace

bool serves_cold(const State& s) {
  return s.phase == Phase::serving && s.candidates[s.winner].warm &&
         s.candidates[s.winner].cold_calls > 0;
}

int serve_cold(const Policy& p, const State& s) {
  const int other = runner_up(s);
  if (other == s.winner) return s.winner;
  const double usual = s.candidates[other].cost();
  const double extra = s.candidates[s.winner].cold_cost - usual;
  const double allowed = usual * p.long_share * static_cast<double>(s.calls) + s.earned;
  if (extra <= usual * p.margin || s.invested + extra <= allowed) return s.winner;
  return other;
}

void note_cold(CandidateState& c, double cost) {
  ++c.cold_calls;
  if (c.cold_calls == 2) {  // the first one made what all share, a mapping for one
    c.cold_cost = std::min(c.cold_cost, cost);
    return;
  }
  const double counted = c.cold_cost > 0 ? std::min(cost, 2 * c.cold_cost) : cost;
  c.cold_cost += (counted - c.cold_cost) / std::min(c.cold_calls, 8);
}

void balance(State& s, double cost, bool cold) {
  const double usual = s.candidates[runner_up(s)].cost();
  if (cold)
    s.invested += std::max(0.0, cost - usual);
  else
    s.earned += std::max(0.0, usual - cost);
}

}  // namespace choir::select
