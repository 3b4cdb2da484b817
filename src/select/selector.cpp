// selector.cpp: examination on a budget, drift with hysteresis, confirmation of remembered results.
//
// There is no fixed schedule. Before every call the state is asked for the candidate whose next
// measurement is still wanted and affordable; when there is none, the best known serves.
#include "select/selector.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "select/drift.hpp"
#include "select/examination.hpp"
#include "select/knowledge.hpp"
#include "select/warmth.hpp"

namespace choir::select {
namespace {

void start_state(const Policy& p, State& s, std::span<const Candidate> candidates) {
  auto remembered = std::move(s.remembered);
  s = State{};
  s.candidates.reserve(candidates.size());
  for (const auto& c : candidates) {
    CandidateState fresh;
    fresh.name = c.name;
    fresh.estimate_s = c.estimate_s;
    fresh.warm_estimate_s = c.warm_estimate_s > 0 ? c.warm_estimate_s : c.estimate_s;
    fresh.debut = c.name == "native" ? Debut::light : c.debut;
    s.candidates.push_back(std::move(fresh));
  }
  s.remembered = std::move(remembered);
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
  const int known = find_name(s, s.remembered.name);
  if (known != nobody && s.remembered.bytes_per_s > 0 && std::isfinite(s.remembered.bytes_per_s)) {
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

/// With no applicable candidate the host's own collective is the answer.
int when_nothing_applies(const State& s) {
  for (int i = 0; i < static_cast<int>(s.candidates.size()); ++i)
    if (s.candidates[i].name == "native") return i;
  return s.candidates.empty() ? nobody : 0;
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

/// Calls until late looks are thought about again. What a run can afford grows with its calls, and
/// so does this.
std::int64_t thoughtless_calls(const Policy& p, const State& s) {
  const auto share = static_cast<std::int64_t>(p.look_share * static_cast<double>(s.calls));
  const auto usual =
      std::clamp<std::int64_t>(share, p.look_every, std::max(p.look_every, p.look_limit));
  const double worth = s.call_s > 0 ? p.thought_s / (p.thought_share * s.call_s) : 0;
  return std::max(usual, static_cast<std::int64_t>(std::min(worth, 1e6)));
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
  if (s.phase == Phase::serving && s.asks_winner) return {s.winner};
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

/// Whether nobody needs to think about the next call.
bool is_brief(const State& s) { return s.phase == Phase::brief && s.calls < s.brief_until; }

void start_brief(State& s, int winner, int calls) {
  s.phase = Phase::brief;
  s.winner = winner;
  s.brief_until = calls;
}

/// A pattern of which nothing is known, and whose calls are expected to be short. Who else could
/// serve is kept for the thought at the end, but of the shortest calls: it takes as long as one.
void begin_brief(const Policy& p, State& s, std::span<const Candidate> candidates) {
  const int likely = least_estimated(candidates);
  if (s.calls > 0 || !s.remembered.name.empty() || likely == nobody) return;
  const double expected = candidates[static_cast<std::size_t>(likely)].estimate_s;
  if (expected < p.tiny_call_s) return start_brief(s, likely, p.brief_calls);
  const auto calls = static_cast<int>(std::min(double(p.short_brief_calls), p.brief_s / expected));
  if (calls < p.least_brief_calls) return;
  start_state(p, s, candidates);
  note_cold_ones(s, candidates);
  if (s.phase != Phase::only) start_brief(s, likely, calls);
}

/// What brief calls have told.
struct Brief {
  int server = nobody;
  std::int64_t calls = 0;
  double seconds = 0, cost = 0;  ///< of the last one; 0: not known
  bool cold = false;
};

Brief told_by(const State& s) {
  return {s.winner, s.calls, s.call_s, s.brief_cost, s.brief_was_cold};
}

/// Examination begins, with what is known of who served so far.
void examine_after(const Policy& p, State& s, const Brief& brief) {
  auto& c = s.candidates[static_cast<std::size_t>(brief.server)];
  if (brief.cost <= 0 || !c.applicable()) return;
  s.began_briefly = true;
  s.calls = s.not_native = brief.calls;
  s.not_native_cost = brief.cost * static_cast<double>(brief.calls);
  s.recorded = 2;  // enough for calls to be sampled
  s.call_s = brief.seconds;
  s.second = brief.cost / brief.seconds;
  s.first_look = p.first_look_s * s.second;
  c.calls = brief.calls;
  c.costs.keep_only(brief.cost);
  if (brief.cold)
    note_cold(c, brief.cost);
  else
    c.warm = true;
}

/// The first calls of a pattern take longer than the later ones: what they took is no measure of
/// what looks may cost. So the likely best serves some, and the last of them is the measure.
void note_brief(const Policy& p, State& s, double seconds, double cost, bool cold) {
  if (s.calls < s.brief_until) {
    // Only a first call is timed before the last; and it was estimated badly.
    if (seconds >= (s.brief_until == p.brief_calls ? p.light_look_s : p.first_look_s))
      s.brief_until = s.calls;
    return;
  }
  s.call_s = seconds;
  s.brief_cost = cost;
  s.brief_was_cold = cold;
  if (seconds < p.tiny_call_s) {
    // Tiny ones go on until they are worth a thought.
    const double worth = p.thought_s / (p.thought_share * seconds);
    s.brief_until =
        std::max<std::int64_t>(s.calls, std::lround(std::min<double>(p.most_brief_calls, worth)));
  }
  if (s.calls < s.brief_until || s.candidates.empty()) return;
  // If nobody else is worth a look, the next call goes the short way like the ones before.
  const auto brief = told_by(s);
  s.phase = Phase::examining;
  s.winner = nobody;
  examine_after(p, s, brief);
  choose(p, s);
}

/// The same where the candidates were not kept, or the first call was estimated badly.
void end_brief(const Policy& p, State& s, std::span<const Candidate> candidates) {
  const auto brief = told_by(s);
  start_state(p, s, candidates);
  examine_after(p, s, brief);
}

Choice serve_brief(State& s) {
  ++s.calls;
  return {s.winner, s.phase, "calls this short are not examined yet"};
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

}  // namespace

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::brief:
      return "brief";
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

Remembered State::result() const {
  if (phase != Phase::serving || winner < 0) return {};
  const auto& c = candidates[static_cast<std::size_t>(winner)];
  return {c.name, reference > 0 ? 1 / reference : c.bytes_per_s()};
}

State* Selector::find(std::uint64_t signature) {
  return const_cast<State*>(std::as_const(*this).state(signature));
}

const State* Selector::state(std::uint64_t signature) const {
  if (!states_.empty() && states_.front().first == signature) return &states_.front().second;
  const auto found = index_.find(signature);
  return found == index_.end() ? nullptr : &found->second->second;
}

State& Selector::touch(std::uint64_t signature) {
  if (!states_.empty() && states_.front().first == signature) return states_.front().second;
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
  if (s->phase == Phase::brief) return is_brief(*s) ? s->winner : nobody;
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
  if (s.phase == Phase::brief) return serve_brief(s);
  ++s.calls;
  ++s.candidates[s.winner].calls;
  ++s.candidates[s.winner].outstanding;
  return {s.winner, s.phase, s.reason};
}

Choice Selector::serve_briefly(std::uint64_t signature, int candidate) {
  if (state(signature) != nullptr) return {};
  State& s = touch(signature);
  start_brief(s, candidate, policy_.brief_calls);
  return serve_brief(s);
}

int Selector::peek(std::uint64_t signature, std::span<const Candidate> candidates) {
  State* const s = find(signature);
  if (s == nullptr) return least_estimated(candidates);  // as next() would begin
  if (is_brief(*s)) return s->winner;
  if (!same_candidates(*s, candidates)) return nobody;
  note_cold_ones(*s, candidates);
  return decide(policy_, *s).candidate;
}

Choice Selector::next(std::uint64_t signature, std::span<const Candidate> candidates) {
  if (candidates.empty()) return {};
  State& s = touch(signature);
  begin_brief(policy_, s, candidates);
  if (is_brief(s)) return serve_brief(s);
  if (s.phase == Phase::brief)
    end_brief(policy_, s, candidates);
  else if (!same_candidates(s, candidates))
    start_state(policy_, s, candidates);
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

namespace {

/// Of so many calls one is timed.
int calls_per_sample(const Policy& p, const State& s) {
  if (s.phase != Phase::serving) return 1;
  if (s.recorded < 2 || s.call_s >= p.short_call_s) return 1;
  return std::max(1, p.sample_every);
}

/// Whether the winner is known by cold calls only, and the next one is not.
bool warms_up_now(const State& s, bool prepared) {
  return prepared && s.phase == Phase::serving && !s.candidates[s.winner].warm &&
         s.candidates[s.winner].cold_calls > 0;
}

/// Of calls that are sampled the winner's time may be of long ago, and calls become faster or
/// slower whoever serves them. So after a look it is timed again, and that counts.
void ask_winner(const Policy& p, State& s) {
  if (s.phase == Phase::serving && calls_per_sample(p, s) > 1) s.asks_winner = true;
}

void hear_winner(const Policy& p, State& s, double cost) {
  auto& costs = s.candidates[s.winner].costs;
  if (s.winners_answers++ == 0) costs.clear();
  costs.add(cost, static_cast<std::size_t>(std::max(1, p.long_race)));
  if (s.reference > 0) s.reference = costs.mean();
  s.asks_winner = false;
}

/// Calls until the next one that is timed; 0: that is the next one.
std::int64_t calls_until_sample(const Policy& p, const State& s, bool prepared) {
  if (is_brief(s)) return s.calls == 0 ? 0 : s.brief_until - 1 - s.calls;
  if (warms_up_now(s, prepared) || s.asks_winner) return 0;
  const int every = calls_per_sample(p, s);
  return (every - s.calls % every) % every;
}

}  // namespace

bool Selector::wants_time(std::uint64_t signature, bool prepared) const {
  const State* const s = state(signature);
  return s == nullptr || calls_until_sample(policy_, *s, prepared) == 0;
}

std::int64_t Selector::unattended(std::uint64_t signature, bool prepared) const {
  if (settled(signature, prepared) == nobody) return 0;
  const State& s = *state(signature);
  const auto until_sample = calls_until_sample(policy_, s, prepared);
  const bool bound = s.phase == Phase::only || s.phase == Phase::brief || s.from_memory;
  return bound ? until_sample : std::min(until_sample, s.quiet_until - s.calls);
}

void Selector::serve_unattended(std::uint64_t signature, std::int64_t calls) {
  State& s = touch(signature);
  s.calls += calls;
  if (s.phase != Phase::brief) s.candidates[s.winner].calls += calls;
}

State* Selector::ended(std::uint64_t signature, int candidate) {
  State* const s = find(signature);
  if (!s || candidate < 0 || candidate >= static_cast<int>(s->candidates.size())) return nullptr;
  auto& outstanding = s->candidates[candidate].outstanding;
  if (outstanding > 0) --outstanding;
  return s;
}

void Selector::forgo_time(std::uint64_t signature, int candidate) { ended(signature, candidate); }

void Selector::record(std::uint64_t signature, int candidate, double slowest_seconds,
                      std::int64_t bytes, bool cold) {
  if (!(slowest_seconds > 0) || !std::isfinite(slowest_seconds)) {
    abandon(signature, candidate);
    return;
  }
  const double cost = slowest_seconds / static_cast<double>(std::max<std::int64_t>(1, bytes));
  if (State* const s = find(signature); s != nullptr && s->phase == Phase::brief)
    return note_brief(policy_, *s, slowest_seconds, cost, cold);
  State* const s = ended(signature, candidate);
  if (s == nullptr) return;
  auto& c = s->candidates[candidate];
  const bool serving = s->phase == Phase::serving && candidate == s->winner;
  if (!serving && s->phase != Phase::confirming && candidate != s->stand_in) {
    const int best_before = best_measured(*s);
    if (best_before != nobody)
      s->spent += std::max(0.0, cost + detour(policy_, *s) - known_cost(*s, best_before));
  }
  if (s->recorded == 0) s->cold = candidate;
  s->second = cost / slowest_seconds;
  s->first_look = policy_.first_look_s * s->second;
  if (c.debut == Debut::light && c.calls == 1 && s->recorded > 0)
    s->light_looks += policy_.light_look_s * s->second;
  s->call_s = slowest_seconds;
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
    if (s->asks_winner && !cold) hear_winner(policy_, *s, cost);
    if (c.costs.empty()) c.costs.keep_only(cost);
    s->served_s += slowest_seconds;
    // The first call said little about how long calls are.
    if (s->recorded == 2) s->quiet_until = s->calls + thoughtless_calls(policy_, *s);
    watch_drift(policy_, *s, cost);
    return;
  }
  c.costs.add(cold ? c.cold_cost : cost,
              static_cast<std::size_t>(std::max({1, policy_.calls_each, policy_.long_race})));
  ask_winner(policy_, *s);
  drop_hopeless(policy_, *s);
  // If nobody else is worth a look yet, the next call can go the short way.
  if (s->recorded == 1 && s->phase == Phase::examining) choose(policy_, *s);
  if (s->phase == Phase::confirming && candidate == s->winner) check_memory(policy_, *s);
}

void Selector::abandon(std::uint64_t signature, int candidate) {
  State* const s = ended(signature, candidate);
  if (s == nullptr) return;
  auto& c = s->candidates[candidate];
  if (++c.failures >= std::max(1, policy_.calls_each) && !c.measured()) c.dropped = true;
}

void Selector::seed(std::uint64_t signature, Remembered remembered) {
  State& s = touch(signature);
  if (s.calls == 0) {
    s = State{};
    s.remembered = std::move(remembered);
  }
}

}  // namespace choir::select
