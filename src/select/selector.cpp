// selector.cpp: examination on a budget, drift with hysteresis, confirmation of remembered results.
//
// There is no fixed schedule. Before every call the state is asked for the candidate whose next
// measurement is still wanted and affordable; when there is none, the best known serves.
#include "select/selector.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace choir::select {

namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();
constexpr int nobody = -1;

/// Called after every serving call: no memory is asked for.
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

/// What a candidate costs as far as known; of a serving winner many calls are.
double known_cost(const State& s, int i) {
  return s.phase == Phase::serving && i == s.winner && s.reference > 0 ? s.reference
                                                                       : s.candidates[i].cost();
}

/// Index of the measured candidate with the least cost; `nobody` when nothing is measured.
int best_measured(const State& s) {
  int best = nobody;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i) {
    const auto& c = s.candidates[i];
    if (!c.applicable() || !c.measured()) continue;
    if (best == nobody || known_cost(s, i) < known_cost(s, best)) best = i;
  }
  return best;
}

int best_estimated(const State& s) {
  int best = nobody;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (s.candidates[i].applicable() &&
        (best == nobody || s.candidates[i].estimate_s < s.candidates[best].estimate_s))
      best = i;
  return best;
}

int find_name(const State& s, std::string_view name) {
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (s.candidates[i].name == name && s.candidates[i].applicable()) return i;
  return nobody;
}

/// Only seen when buffers, mappings or file blocks were new: on the very first call, or where a
/// candidate that prepares things had not been before.
bool seen_cold_only(const State& s, int i) {
  const auto& c = s.candidates[i];
  if (c.warm || c.costs.size() != 1) return false;
  return c.cold_calls > 0 || (i == s.cold && s.examinations == 0);
}

/// Another call of it would tell nothing new: how it does where it is cold is known well enough.
bool pointless_here(const CandidateState& c) {
  constexpr int enough = 2;
  return c.cold_now && (c.warm || c.cold_calls >= enough);
}

/// What one estimated second has cost so far: turns estimates into costs. 1 before any
/// measurement, when only the ratio of estimates matters.
double cost_per_estimate(const State& s) {
  double logs = 0;
  int n = 0;
  const auto measured = std::count_if(s.candidates.begin(), s.candidates.end(),
                                      [](const CandidateState& c) { return c.measured(); });
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i) {
    const auto& c = s.candidates[i];
    if (!c.applicable() || !c.measured() || c.estimate_s <= 0) continue;
    if (measured > 1 && seen_cold_only(s, i)) continue;
    logs += std::log(c.cost() / c.estimate_s);
    ++n;
  }
  return n ? std::exp(logs / n) : 1;
}

double predicted(const State& s, int i, double scale) {
  const auto& c = s.candidates[i];
  if (seen_cold_only(s, i)) return std::min(c.cost(), c.estimate_s * scale);
  if (c.measured()) return known_cost(s, i);
  if (c.known_cost > 0) return c.known_cost;
  return c.estimate_s * scale + (c.light ? 0 : s.first_look);
}

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

/// Relative scatter of single calls: in service, or pooled over the calls of the examination.
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

/// Whether a look at candidate `i` keeps the run's losses, against the best known and against
/// native, inside what the policy allows.
bool affordable(const Policy& p, const State& s, int i) {
  const double scale = cost_per_estimate(s);
  const double best = best_cost(s, scale);
  const double expected = predicted(s, i, scale);
  const auto n = static_cast<double>(s.calls);
  const double budget =
      best * std::max(std::min(p.early_share * n, p.early_calls), p.long_share * n);
  if (expected > best * (1 + p.margin) && committed(s, scale, best) + expected - best > budget)
    return false;

  const int native = find_name(s, "native");
  if (native == nobody || native == i || !s.candidates[native].measured()) return true;
  const double native_cost = s.candidates[native].cost();
  if (expected <= native_cost) return true;  // what was lost before is no reason to go on losing
  const double slack = native_cost * std::max(p.native_slack, p.native_share * n);
  // Native's own time is known from few calls: what seems gained is taken with that doubt.
  const double doubt =
      2 * scatter(s) / std::sqrt(static_cast<double>(s.candidates[native].costs.size()));
  const double instead = native_cost * static_cast<double>(s.not_native);
  double gained = instead - s.not_native_cost;
  if (gained > 0) gained = std::max(0.0, gained - doubt * instead);
  return expected - native_cost <= slack + gained;
}

bool native_is_due(const Policy& p, const State& s, int native) {
  const int first = best_estimated(s);
  return s.candidates[native].estimate_s <= p.native_ratio * s.candidates[first].estimate_s;
}

/// The next candidate nobody has seen in this examination: the likely best, then native, then
/// the others as predicted.
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

double leading_cost(const State& s) {
  const int best = best_measured(s);
  return best == nobody ? 0 : known_cost(s, best);
}

/// A candidate that may still win with more calls: the more it has had, the closer it must be.
bool contends(const Policy& p, const State& s, int i, double lead, double noise) {
  const auto& c = s.candidates[i];
  if (!c.applicable() || !c.measured()) return false;
  if (seen_cold_only(s, i)) return c.cost() <= lead * p.cold_hopeless + s.first_look;
  const auto n = static_cast<double>(c.costs.size());
  return c.cost() <= lead * (1 + std::max((p.hopeless - 1) / n, 3 * noise / std::sqrt(n)));
}

/// Calls a candidate is due: more than usual while it and the leader differ by less than the
/// scatter explains. Such candidates are close, so that the extra calls cost little.
int calls_due(const Policy& p, const State& s, const CandidateState& c, double lead, double noise) {
  const double explained = 2 * noise / std::sqrt(static_cast<double>(c.costs.size()));
  if (noise < p.margin / 2 || c.cost() / lead - 1 > explained) return p.calls_each;
  return std::max(p.calls_each, s.phase == Phase::serving ? p.long_race : p.close_race);
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

/// The contender that needs another call, by turns, the most promising first.
int unfinished(const Policy& p, const State& s) {
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

bool anything_outstanding(const State& s) {
  return std::any_of(s.candidates.begin(), s.candidates.end(),
                     [](const CandidateState& c) { return c.outstanding > 0; });
}

int fallback(const State& s) {
  if (s.winner != nobody) return s.winner;
  const int best = best_measured(s);
  return best != nobody ? best : best_estimated(s);
}

void forget_serving(State& s) {
  s.window.clear();
  s.reference = 0;
  s.reference_calls = 0;
  s.off_reference = 0;
  s.since_examination = 0;
  s.served_s = 0;
}

/// Examinations that follow each other quickly, whatever they find, become rarer; a long calm
/// makes the selector attentive again.
std::int64_t next_backoff(const Policy& p, const State& s) {
  if (s.since_examination < 4 * s.backoff)
    return std::min<std::int64_t>(s.backoff * 2, p.backoff_limit);
  return s.since_examination < 16 * s.backoff ? s.backoff : p.backoff_calls;
}

/// Everybody is measured again, by turns. The incumbent keeps its latest call only: the calls that
/// raised the alarm are no fair sample of it.
void start_examination(const Policy& p, State& s, std::string why) {
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i) {
    auto& c = s.candidates[i];
    if (c.measured()) c.known_cost = c.cost();
    c.costs.clear();
    c.dropped = false;
    c.failures = 0;
    if (i == s.winner && !s.window.empty()) c.costs.keep_only(s.window.back());
  }
  s.backoff = next_backoff(p, s);
  forget_serving(s);
  ++s.examinations;
  s.phase = Phase::examining;
  s.from_memory = false;
  s.reason = std::move(why);
}

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

/// The host's own collective wins near ties: nobody shall lose by using choir.
int prefer_native(const Policy& p, const State& s, int best) {
  const int native = find_name(s, "native");
  if (native == nobody || !s.candidates[native].measured()) return best;
  const bool close = s.candidates[best].cost() > s.candidates[native].cost() * (1 - p.native_bonus);
  return close ? native : best;
}

/// Whether `challenger` is faster than the incumbent by more than the margin and the scatter.
bool beats_incumbent(const Policy& p, const State& s, int challenger) {
  const auto calls = static_cast<double>(s.candidates[challenger].costs.size());
  const double needed = std::max(p.margin, std::min(0.5, 1.5 * scatter(s) / std::sqrt(calls)));
  return known_cost(s, challenger) < known_cost(s, s.winner) * (1 - needed);
}

/// Nothing is left to measure: the fastest serves. The incumbent stays unless beaten clearly.
int winner_by_now(const Policy& p, const State& s) {
  const int best = best_measured(s);
  if (best == nobody) return s.winner;
  const bool stays = s.winner != nobody && s.candidates[s.winner].measured() &&
                     !beats_incumbent(p, s, best);
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

/// The reference follows the first calls of a serving period and then stands.
void refine_reference(const Policy& p, State& s, double cost) {
  constexpr int settled_calls = 64;
  if (s.reference == 0) {
    if (static_cast<int>(s.window.size()) < p.window) return;
    s.reference = median(s.window);
    s.reference_calls = p.window;
  } else if (s.off_reference == 0 && s.reference_calls < settled_calls) {
    ++s.reference_calls;
    s.reference += (std::min(cost, 2 * s.reference) - s.reference) / s.reference_calls;
  }
}

/// Scatter from calls a few apart: a lasting change moves it briefly, noise moves it always, and
/// noise that lasts over some calls is seen too.
void watch_noise(State& s, double cost) {
  constexpr std::size_t apart = 4;
  if (s.window.size() < apart) return;
  const double previous = s.window[s.window.size() - apart];
  const double jump = std::min(1.0, std::abs(cost - previous) / std::max(cost, previous));
  constexpr double to_sigma = 1 / 1.128;
  const double weight = s.noise == 0 ? 0.5 : 1.0 / 16;
  s.noise += weight * (jump * to_sigma - s.noise);
}

/// How far the window's median may be off before it counts: the configured drift, or what the
/// scatter of a median of `window` calls explains, whichever is more.
double tolerance(const Policy& p, const State& s) {
  constexpr double cautious = 4.5 * 1.25;
  return std::max(p.drift, cautious * s.noise / std::sqrt(static_cast<double>(p.window)));
}

/// The winner turned out slower in service than it was, or than another was, when examined.
bool disappointed(const Policy& p, const State& s) {
  if (s.reference == 0) return false;
  const auto& winner = s.candidates[s.winner];
  if (static_cast<int>(winner.costs.size()) >= p.calls_each &&
      s.reference > winner.cost() * (1 + 1.5 * tolerance(p, s)))
    return true;
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (i != s.winner && static_cast<int>(s.candidates[i].costs.size()) >= p.calls_each &&
        s.reference > s.candidates[i].cost() * (1 + tolerance(p, s)))
      return true;
  return false;
}

bool rested(const Policy& p, const State& s, std::int64_t calls) {
  return s.since_examination >= calls && s.served_s >= p.rest_s;
}

void watch_drift(const Policy& p, State& s, double cost) {
  watch_noise(s, cost);
  s.window.push_back(cost);
  if (static_cast<int>(s.window.size()) > p.window) s.window.erase(s.window.begin());
  ++s.since_examination;
  if (s.reference == 0) {
    refine_reference(p, s, cost);
    if (disappointed(p, s) && rested(p, s, s.backoff))
      start_examination(p, s, "slower in service than when examined");
    return;
  }
  const double off = median(s.window) / s.reference - 1;
  s.off_reference = std::abs(off) > tolerance(p, s) ? s.off_reference + 1 : 0;
  refine_reference(p, s, cost);
  // Waiting out the back-off is for small changes; a call twice as slow is worth a look at once.
  const bool large = std::abs(off) > std::max(0.5, 2 * tolerance(p, s));
  const auto rest = large ? std::max<std::int64_t>(2 * p.window, s.backoff / 8) : s.backoff;
  if (s.off_reference >= p.window / 2 && rested(p, s, rest))
    start_examination(p, s,
                      "calls became " + percent(std::abs(off)) + (off > 0 ? " slower" : " faster"));
}

/// An earlier run's winner has served enough calls: it stands, or everybody is examined.
void check_memory(const Policy& p, State& s) {
  const auto& c = s.candidates[s.winner];
  if (static_cast<int>(c.costs.size()) < p.calls_each) return;
  const double promised = 1 / s.remembered.bytes_per_s;
  if (c.cost() <= promised * (1 + p.confirm)) {
    s.phase = Phase::serving;
    s.reason = "fastest in an earlier run, confirmed";
    return;
  }
  const double slower = c.cost() / promised - 1;
  s.window.assign(c.costs.begin(), c.costs.end());
  start_examination(p, s, "remembered result not met: " + percent(slower) + " slower");
}

void start_state(const Policy& p, State& s, std::span<const Candidate> candidates) {
  const auto remembered = s.remembered;
  s = State{};
  for (const auto& c : candidates) {
    CandidateState fresh;
    fresh.name = c.name;
    fresh.estimate_s = c.estimate_s;
    fresh.light = c.light || c.name == "native";
    s.candidates.push_back(std::move(fresh));
  }
  s.remembered = remembered;
  s.backoff = p.backoff_calls;
  s.reason = "new pattern";
  const auto applicable = std::count_if(s.candidates.begin(), s.candidates.end(),
                                        [](const CandidateState& c) { return c.applicable(); });
  if (applicable <= 1) {
    s.phase = Phase::only;
    s.winner = best_estimated(s);
    s.reason = applicable == 1 ? "the only one that applies" : "nothing else applies";
    return;
  }
  const int known = find_name(s, remembered.name);
  if (known != nobody && remembered.bytes_per_s > 0 && std::isfinite(remembered.bytes_per_s)) {
    s.winner = known;
    s.phase = Phase::confirming;
    s.from_memory = true;
    s.reason = "fastest in an earlier run";
  }
}

bool same_candidates(const State& s, std::span<const Candidate> candidates) {
  return std::equal(s.candidates.begin(), s.candidates.end(), candidates.begin(), candidates.end(),
                    [](const CandidateState& a, const Candidate& b) {
                      return a.name == b.name && a.applicable() == std::isfinite(b.estimate_s);
                    });
}

void note_cold_ones(State& s, std::span<const Candidate> candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) s.candidates[i].cold_now = candidates[i].cold;
}

/// With no applicable candidate the host's own collective is the answer.
int when_nothing_applies(const State& s) {
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (s.candidates[i].name == "native") return i;
  return s.candidates.empty() ? nobody : 0;
}

/// A late look turned out well: a new winner without a new examination.
bool overtaken(const Policy& p, const State& s) {
  const int best = best_measured(s);
  return best != nobody && best != s.winner && beats_incumbent(p, s, best);
}

/// A candidate known only from cold calls that may win when it is warm.
bool waits_for_warmth(const Policy& p, const State& s, int i) {
  const auto& c = s.candidates[i];
  return i != s.winner && c.cold_calls > 0 && seen_cold_only(s, i) &&
         contends(p, s, i, leading_cost(s), scatter(s));
}

/// The call goes where such a candidate has been: the chance to see what it can do.
bool warm_look(const Policy& p, const State& s) {
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (!s.candidates[i].cold_now && waits_for_warmth(p, s, i) && affordable(p, s, i)) return true;
  return false;
}

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

/// The winner is cold here. It serves all the same if that costs little, or if the run can afford
/// to prepare more; else its stand-in does.
int serve_cold(const Policy& p, const State& s) {
  const int other = runner_up(s);
  if (other == s.winner) return s.winner;
  const double usual = s.candidates[other].cost();
  const double extra = s.candidates[s.winner].cold_cost - usual;
  const double allowed = usual * p.long_share * static_cast<double>(s.calls) + s.earned;
  if (extra <= usual * p.margin || s.invested + extra <= allowed) return s.winner;
  return other;
}

bool serves_cold(const State& s) {
  return s.phase == Phase::serving && s.candidates[s.winner].warm &&
         s.candidates[s.winner].cold_calls > 0;
}

/// Calls until late looks are thought about again. What a run can afford grows with its calls, and
/// so does this.
std::int64_t thoughtless_calls(const Policy& p, const State& s) {
  const auto share = static_cast<std::int64_t>(p.look_share * static_cast<double>(s.calls));
  return std::clamp<std::int64_t>(share, p.look_every, std::max(p.look_every, p.look_limit));
}

struct Decision {
  int candidate = nobody;
  bool stands_in = false;  ///< for a winner that is cold here
  bool thought = false;    ///< nothing is wanted: there is a time to think again
  bool settles = false;    ///< the examination is over, or a late look found a new winner
};

Decision decide(const Policy& p, const State& s) {
  if (s.phase == Phase::only) return {s.winner != nobody ? s.winner : when_nothing_applies(s)};
  if (s.phase == Phase::confirming || s.from_memory) return {s.winner};
  if (serves_cold(s) && s.candidates[s.winner].cold_now) {
    const int server = serve_cold(p, s);
    return {server, server != s.winner};
  }
  if (s.phase == Phase::serving && s.calls < s.quiet_until && !warm_look(p, s)) return {s.winner};
  int wanted = unseen(p, s);
  if (wanted == nobody) wanted = unfinished(p, s);
  if (wanted != nobody) return {wanted};
  const bool settles = s.phase == Phase::examining ? !anything_outstanding(s) : overtaken(p, s);
  const int winner = settles ? winner_by_now(p, s) : nobody;
  return {winner != nobody ? winner : fallback(s), false, true, settles};
}

int choose(const Policy& p, State& s) {
  const auto decision = decide(p, s);
  if (decision.stands_in) s.stand_in = decision.candidate;
  if (decision.settles) settle(p, s);
  if (decision.thought) s.quiet_until = s.calls + thoughtless_calls(p, s);
  return decision.candidate;
}

/// What the calls of others than native took, to be compared with native in their place. A hiccup
/// of a well-known candidate would have met native as well.
void count_against_native(State& s, int candidate, double cost) {
  const auto& c = s.candidates[candidate];
  if (c.name == "native") return;
  const bool serves = s.phase == Phase::serving && candidate == s.winner && s.reference > 0;
  const bool well_known = serves || c.costs.size() >= 3;
  ++s.not_native;
  s.not_native_cost += well_known ? std::min(cost, 2 * known_cost(s, candidate)) : cost;
}

void note_cold(CandidateState& c, double cost) {
  ++c.cold_calls;
  const double counted = c.cold_cost > 0 ? std::min(cost, 2 * c.cold_cost) : cost;
  c.cold_cost += (counted - c.cold_cost) / std::min(c.cold_calls, 8);
}

/// A serving call of a winner that is sometimes cold, against what its stand-in would have taken.
void balance(State& s, double cost, bool cold) {
  const double usual = s.candidates[runner_up(s)].cost();
  if (cold)
    s.invested += std::max(0.0, cost - usual);
  else
    s.earned += std::max(0.0, usual - cost);
}

void drop_hopeless(const Policy& p, State& s) {
  const double lead = leading_cost(s);
  const double noise = scatter(s);
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (s.candidates[i].measured())
      s.candidates[i].dropped = i != s.winner && !contends(p, s, i, lead, noise);
}

}  // namespace

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::examining:
      return "examining";
    case Phase::serving:
      return "serving";
    case Phase::confirming:
      return "confirming";
    case Phase::only:
      return "only";
  }
  return "unknown";
}

bool CandidateState::applicable() const { return std::isfinite(estimate_s); }

void Costs::add(double cost, std::size_t most) {
  values_.push_back(cost);
  if (values_.size() > most) values_.erase(values_.begin());
  const double limit =
      2 * (values_.size() > 2 ? median(values_) : *std::min_element(values_.begin(), values_.end()));
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

Remembered State::result() const {
  if (phase != Phase::serving || winner < 0) return {};
  const auto& c = candidates[static_cast<std::size_t>(winner)];
  return {c.name, reference > 0 ? 1 / reference : c.bytes_per_s()};
}

State* Selector::find(std::uint64_t signature) {
  const auto found = index_.find(signature);
  return found == index_.end() ? nullptr : &found->second->second;
}

const State* Selector::state(std::uint64_t signature) const {
  const auto found = index_.find(signature);
  return found == index_.end() ? nullptr : &found->second->second;
}

State& Selector::touch(std::uint64_t signature) {
  if (const auto found = index_.find(signature); found != index_.end()) {
    states_.splice(states_.begin(), states_, found->second);
    return states_.front().second;
  }
  if (states_.size() >= std::max<std::size_t>(1, policy_.max_states)) {
    index_.erase(states_.back().first);
    states_.pop_back();
  }
  states_.emplace_front(signature, State{});
  index_[signature] = states_.begin();
  return states_.front().second;
}

int Selector::settled(std::uint64_t signature, bool prepared) const {
  const State* const s = state(signature);
  if (s == nullptr || s->winner == nobody) return nobody;
  if (!prepared && serves_cold(*s)) return nobody;
  if (prepared && s->phase == Phase::serving && !s->from_memory)
    for (int i = 0; i < static_cast<int>(s->candidates.size()); ++i)
      if (waits_for_warmth(policy_, *s, i)) return nobody;
  const bool quiet = s->phase == Phase::serving && s->calls < s->quiet_until;
  const bool bound = s->phase == Phase::only || s->phase == Phase::confirming || s->from_memory;
  return quiet || bound ? s->winner : nobody;
}

Choice Selector::serve(std::uint64_t signature) {
  State& s = touch(signature);
  ++s.calls;
  ++s.candidates[s.winner].calls;
  ++s.candidates[s.winner].outstanding;
  return {s.winner, s.phase, s.reason};
}

int Selector::peek(std::uint64_t signature, std::span<const Candidate> candidates) {
  State* const s = find(signature);
  if (s == nullptr || !same_candidates(*s, candidates)) return nobody;
  note_cold_ones(*s, candidates);
  return decide(policy_, *s).candidate;
}

Choice Selector::next(std::uint64_t signature, std::span<const Candidate> candidates) {
  if (candidates.empty()) return {};
  State& s = touch(signature);
  if (!same_candidates(s, candidates)) start_state(policy_, s, candidates);
  note_cold_ones(s, candidates);
  const int chosen = choose(policy_, s);
  ++s.calls;
  ++s.candidates[chosen].calls;
  ++s.candidates[chosen].outstanding;
  const bool standing_in = chosen == s.stand_in && s.candidates[s.winner].cold_now;
  const bool looking = s.phase == Phase::serving && chosen != s.winner && !standing_in;
  if (looking) return {chosen, Phase::examining, "a look the run can afford by now"};
  return {chosen, s.phase, s.reason};
}

void Selector::record(std::uint64_t signature, int candidate, double slowest_seconds,
                      std::int64_t bytes, bool cold) {
  if (!(slowest_seconds > 0) || !std::isfinite(slowest_seconds)) {
    abandon(signature, candidate);
    return;
  }
  State* const s = find(signature);
  if (!s || candidate < 0 || candidate >= static_cast<int>(s->candidates.size())) return;
  auto& c = s->candidates[candidate];
  if (c.outstanding > 0) --c.outstanding;
  const double cost = slowest_seconds / static_cast<double>(std::max<std::int64_t>(1, bytes));
  const bool serving = s->phase == Phase::serving && candidate == s->winner;
  if (!serving && s->phase != Phase::confirming && candidate != s->stand_in) {
    const int best_before = best_measured(*s);
    if (best_before != nobody) s->spent += std::max(0.0, cost - known_cost(*s, best_before));
  }
  if (s->recorded == 0) s->cold = candidate;
  s->first_look = policy_.first_look_s * cost / slowest_seconds;
  ++s->recorded;
  count_against_native(*s, candidate, cost);
  if (s->phase == Phase::only) {
    c.costs.add(cost, static_cast<std::size_t>(std::max(1, policy_.window)));
    return;
  }
  if (cold) note_cold(c, cost);
  if (serves_cold(*s) && serving) balance(*s, cost, cold);
  if (cold && c.warm) return;
  if (seen_cold_only(*s, candidate)) c.costs.clear();  // now its usual time is known, or its mean
  if (!cold && s->recorded > 1) c.warm = true;
  if (serving) {
    if (c.costs.empty()) c.costs.keep_only(cost);
    s->served_s += slowest_seconds;
    watch_drift(policy_, *s, cost);
    return;
  }
  c.costs.add(cold ? c.cold_cost : cost,
              static_cast<std::size_t>(std::max({1, policy_.calls_each, policy_.long_race})));
  drop_hopeless(policy_, *s);
  if (s->phase == Phase::confirming && candidate == s->winner) check_memory(policy_, *s);
}

void Selector::abandon(std::uint64_t signature, int candidate) {
  State* const s = find(signature);
  if (!s || candidate < 0 || candidate >= static_cast<int>(s->candidates.size())) return;
  auto& c = s->candidates[candidate];
  if (c.outstanding > 0) --c.outstanding;
  if (++c.failures >= std::max(1, policy_.calls_each) && !c.measured()) c.dropped = true;
}

void Selector::seed(std::uint64_t signature, const Remembered& remembered) {
  State& s = touch(signature);
  if (s.calls == 0) {
    s = State{};
    s.remembered = remembered;
  }
}

}  // namespace choir::select
