#include "select/drift.hpp"

#include <algorithm>
#include <cmath>

#include "select/knowledge.hpp"

namespace choir::select {

void forget_serving(State& s) {
  s.window.clear();
  s.reference = 0;
  s.reference_calls = 0;
  s.off_reference = 0;
  s.since_examination = 0;
  s.served_s = 0;
  s.asks_winner = false;
  s.winners_answers = 0;
}

namespace {

/// Examinations that follow each other quickly, whatever they find, become rarer; a long calm
/// makes the selector attentive again.
std::int64_t next_backoff(const Policy& p, const State& s) {
  if (s.since_examination < 4 * s.backoff)
    return std::min<std::int64_t>(s.backoff * 2, p.backoff_limit);
  return s.since_examination < 16 * s.backoff ? s.backoff : p.backoff_calls;
}

}  // namespace

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

namespace {

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

/// The machine has become another one: candidates that were not worth a look may be untouched by
/// what slows the others down, and the run may pay for looks as at its beginning.
void note_change(State& s) {
  s.calm_cost = s.reference;
  s.calm_estimate_s = s.candidates[s.winner].estimate_s;
  s.changed_at = s.calls;
  s.spent = 0;
}

}  // namespace

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
  const bool rare = s.backoff <= 2 * p.backoff_calls;
  const auto rest = large ? std::max<std::int64_t>(2 * p.window, s.backoff / 8) : s.backoff;
  if (s.off_reference < p.window / 2 || !rested(p, s, rest)) return;
  if (large && off > 0 && rare) note_change(s);
  start_examination(p, s,
                    "calls became " + percent(std::abs(off)) + (off > 0 ? " slower" : " faster"));
}

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

}  // namespace choir::select
