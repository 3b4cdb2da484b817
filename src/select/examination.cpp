#include "select/examination.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "select/drift.hpp"
#include "select/knowledge.hpp"
#include "select/warmth.hpp"

namespace choir::select {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

/// The cost everything is compared with: measured if anything is, else estimated.
double best_cost(const State& s, double scale) {
  const int best = best_measured(s);
  if (best != nobody) return known_cost(s, best);
  double least = unknown;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (s.candidates[i].applicable()) least = std::min(least, predicted(s, i, scale));
  return least;
}

/// Calls in flight count at their predicted excess, so that many outstanding calls cannot spend
/// the budget several times.
double committed(const State& s, double scale, double best) {
  double total = s.spent;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (s.candidates[i].outstanding > 0)
      total += s.candidates[i].outstanding * std::max(0.0, predicted(s, i, scale) - best);
  return total;
}

/// Calls of the best that looks may cost while the run, or the machine as it is now, is new.
double early_budget(const Policy& p, const State& s) {
  const auto since = static_cast<double>(s.calls - s.changed_at);
  if (s.began_briefly && s.changed_at == 0) return 0;  // short calls: looks have to be earned
  if (s.changed_at > 0) return std::min(p.changed_share * since, p.changed_calls);
  return std::min(p.early_share * since, p.early_calls);
}

/// The same for a look at one that is expected to take `times` as long as the best.
double look_budget(const Policy& p, const State& s, double times) {
  const auto calls = static_cast<double>(s.calls);
  const bool hopeful = times < p.far || s.changed_at > 0;
  return hopeful ? std::max(early_budget(p, s), p.long_share * calls)
                 : p.long_share * std::max(0.0, calls - p.far_after);
}

/// Calls of native, or of the best, that looks may lose.
double slack(const Policy& p, const State& s) {
  return std::max(p.native_slack, p.native_share * static_cast<double>(s.calls));
}

/// The cost of a call as it will be: a first one alone may be mostly one-time costs. If it was
/// estimated badly, the next ones tell.
double usual_cost(const State& s) {
  const int best = best_measured(s);
  if (best == nobody) return 0;
  if (!seen_cold_only(s, best)) return known_cost(s, best);
  return std::min(known_cost(s, best), s.candidates[best].estimate_s * s.second);
}

/// Whether a candidate should be faster than everyone known so far, if not now then later.
bool promises_gain(const Policy& p, const State& s, const CandidateState& c) {
  const int best = best_measured(s);
  return best == nobody || c.warm_estimate_s < s.candidates[best].estimate_s * (1 - p.margin);
}

/// Whether calls are long enough for the one-time costs of another light candidate.
bool light_look_pays(const Policy& p, const State& s, int i) {
  const auto& c = s.candidates[i];
  if (c.debut != Debut::light || c.calls > 0 || s.recorded == 0) return true;
  const double share = promises_gain(p, s, c) ? 2 : 1;
  return s.light_looks + p.light_look_s * s.second <= share * slack(p, s) * usual_cost(s);
}

}  // namespace

double detour(const Policy& p, const State& s) {
  const int best = best_measured(s);
  // Cold calls say little about who is best: that shall be found out soon.
  if (best == nobody || seen_cold_only(s, best) || s.call_s >= p.short_call_s) return 0;
  return p.thought_s * s.second;
}

bool affordable(const Policy& p, const State& s, int i) {
  const double scale = cost_per_estimate(s);
  const double best = best_cost(s, scale);
  if (!light_look_pays(p, s, i)) return false;
  const double expected = predicted(s, i, scale) + detour(p, s);
  const double budget = best * look_budget(p, s, predicted_later(s, i, scale) / best);
  if (expected > best * (1 + p.margin) && committed(s, scale, best) + expected - best > budget)
    return false;

  const int native = find_name(s, "native");
  if (native == nobody || native == i || !s.candidates[native].measured()) return true;
  const double native_cost = s.candidates[native].cost();
  if (expected <= native_cost) return true;  // what was lost before is no reason to go on losing
  // Native's own time is known from few calls: what seems gained is taken with that doubt.
  const double doubt =
      2 * scatter(s) / std::sqrt(static_cast<double>(s.candidates[native].costs.size()));
  const double instead = native_cost * static_cast<double>(s.not_native);
  double gained = instead - s.not_native_cost;
  if (gained > 0) gained = std::max(0.0, gained - doubt * instead);
  return expected - native_cost <= native_cost * slack(p, s) + gained;
}

namespace {

bool native_is_due(const Policy& p, const State& s, int native) {
  const int first = best_estimated(s);
  return s.candidates[native].estimate_s <= p.native_ratio * s.candidates[first].estimate_s &&
         light_look_pays(p, s, native);
}

}  // namespace

int unseen(const Policy& p, const State& s) {
  const auto is_unseen = [&](int i) {
    if (i == nobody) return false;
    const auto& c = s.candidates[i];
    return c.applicable() && !c.dropped && !c.measured() && c.outstanding == 0 &&
           !pointless_here(c);
  };
  if (s.examinations == 0) {
    const int likely = best_estimated(s);
    if (is_unseen(likely)) return likely;
    const int native = find_name(s, "native");
    if (native != nobody && is_unseen(native) && native_is_due(p, s, native)) return native;
  }
  const double scale = cost_per_estimate(s);
  int chosen = nobody;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (is_unseen(i) && affordable(p, s, i) &&
        (chosen == nobody || predicted(s, i, scale) < predicted(s, chosen, scale)))
      chosen = i;
  return chosen;
}

bool contends(const Policy& p, const State& s, int i, double lead, double noise) {
  const auto& c = s.candidates[i];
  if (!c.applicable() || !c.measured()) return false;
  if (seen_cold_only(s, i)) return c.cost() <= lead * p.cold_hopeless + s.first_look;
  const auto n = static_cast<double>(c.costs.size());
  return c.cost() <= lead * (1 + std::max((p.hopeless - 1) / n, 3 * noise / std::sqrt(n)));
}

namespace {

/// Calls a candidate is due: more than usual while it and the leader differ by less than the
/// scatter explains. Such candidates are close, so that the extra calls cost little, unless calls
/// are so short that thinking about them costs more. Late, it must still be able to win.
int calls_due(const Policy& p, const State& s, const CandidateState& c, double lead, double noise) {
  const double explained = 2 * noise / std::sqrt(static_cast<double>(c.costs.size()));
  if (noise < p.margin / 2 || c.cost() / lead - 1 > explained) return p.calls_each;
  if (p.thought_s > p.margin * s.call_s) return p.calls_each;
  if (s.phase != Phase::serving) return std::max(p.calls_each, p.close_race);
  const bool may_win = c.cost() * (1 - explained) < known_cost(s, s.winner) * (1 - p.close_margin);
  return std::max(p.calls_each, may_win ? p.long_race : p.close_race);
}

/// One call may have met a hiccup. A long run affords a second look at what was dropped after one.
bool second_opinion(const Policy& p, const State& s, const CandidateState& c, double lead) {
  if (s.phase != Phase::serving || !c.applicable() || c.costs.size() != 1) return false;
  const double budget = p.long_share * static_cast<double>(s.calls) * lead;
  return s.spent + c.cost() - lead <= budget;
}

/// Rotation, so that a disturbance of some calls does not hit one candidate alone.
std::pair<std::size_t, double> turn(const CandidateState& c) {
  return {c.costs.size() + static_cast<std::size_t>(c.outstanding), c.cost()};
}

/// With nobody to be compared with there is nothing to find out by more calls.
bool without_rival(const State& s) {
  return s.phase == Phase::examining && s.examinations == 0 &&
         std::count_if(s.candidates.begin(), s.candidates.end(),
                       [](const CandidateState& c) { return c.measured(); }) < 2;
}

}  // namespace

int unfinished(const Policy& p, const State& s) {
  if (without_rival(s)) return nobody;
  const double lead = leading_cost(s);
  const double noise = scatter(s);
  int chosen = nobody;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i) {
    const auto& c = s.candidates[i];
    if ((s.phase == Phase::serving && i == s.winner) || pointless_here(c)) continue;
    if (!contends(p, s, i, lead, noise) && !second_opinion(p, s, c, lead)) continue;
    const auto calls = static_cast<int>(c.costs.size()) + c.outstanding;
    if (calls >= calls_due(p, s, c, lead, noise) || !affordable(p, s, i)) continue;
    if (chosen == nobody || turn(c) < turn(s.candidates[chosen])) chosen = i;
  }
  return chosen;
}

void drop_hopeless(const Policy& p, State& s) {
  const double lead = leading_cost(s);
  const double noise = scatter(s);
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (s.candidates[i].measured())
      s.candidates[i].dropped = i != s.winner && !contends(p, s, i, lead, noise);
}

namespace {

std::string verdict(const State& s, int winner) {
  int looked_at = 0;
  double second = unknown;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i) {
    if (!s.candidates[i].measured()) continue;
    ++looked_at;
    if (i != winner) second = std::min(second, s.candidates[i].cost());
  }
  if (looked_at < 2)
    return s.examinations > 0 ? "still the best known" : "the only one worth a call so far";
  const double ahead = second / s.candidates[winner].cost() - 1;
  auto text = "fastest of " + std::to_string(looked_at) + " examined";
  return ahead > 0 ? text + ", " + percent(ahead) + " ahead of the next" : text;
}

/// The host's own collective wins near ties: nobody shall lose by using choir. Its calls have a
/// meeting before and one after them, though, which short calls feel.
int prefer_native(const Policy& p, const State& s, int best) {
  const int native = find_name(s, "native");
  if (native == nobody || !s.candidates[native].measured()) return best;
  const double cost = s.candidates[native].cost() + p.meeting_s * s.second;
  const bool close = s.candidates[best].cost() > cost * (1 - p.native_bonus);
  return close ? native : best;
}

/// Whether `challenger` is faster than the incumbent by more than the margin and the scatter.
bool beats_incumbent(const Policy& p, const State& s, int challenger) {
  const auto calls = s.candidates[challenger].costs.size();
  const bool well_known = calls >= static_cast<std::size_t>(p.close_race);
  const double explained = (well_known ? 2 : 1.5) * scatter(s) / std::sqrt(double(calls));
  const double needed = std::max(well_known ? p.close_margin : p.margin, std::min(0.5, explained));
  return known_cost(s, challenger) < known_cost(s, s.winner) * (1 - needed);
}

}  // namespace

int winner_by_now(const Policy& p, const State& s) {
  const int best = best_measured(s);
  if (best == nobody) return s.winner;
  const bool stays =
      s.winner != nobody && s.candidates[s.winner].measured() && !beats_incumbent(p, s, best);
  return stays ? s.winner : prefer_native(p, s, best);
}

void settle(const Policy& p, State& s) {
  const int winner = winner_by_now(p, s);
  if (winner == nobody) return;
  if (s.phase == Phase::serving && s.reference > 0)
    s.candidates[s.winner].costs.keep_only(s.reference);
  if (s.phase == Phase::examining || winner != s.winner) forget_serving(s);
  s.winner = winner;
  s.phase = Phase::serving;
  s.reason = verdict(s, winner);
}

bool overtaken(const Policy& p, const State& s) {
  const int best = best_measured(s);
  return best != nobody && best != s.winner && beats_incumbent(p, s, best);
}

}  // namespace choir::select
