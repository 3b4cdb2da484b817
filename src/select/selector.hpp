// selector.hpp: which strategy serves the next call, decided by measuring the running program.
//
// Pure state: no MPI, clock or globals. Every rank that feeds a Selector the same calls and the
// same agreed times (the slowest rank's) takes the same decisions, so decisions are never sent.
// Not thread-safe: one Selector belongs to one open file, whose collective calls are ordered.
//
// How a signature lives:
//   brief       calls estimated to take microseconds: the likely best serves, and nobody thinks
//               until there are enough of them to be worth it, or one takes long after all.
//   examining   candidates serve real calls, the likely best first, `native` second. One call is
//               enough to drop a hopeless one; the others get `calls_each`. A look that would cost
//               more than the budget allows waits until the run has earned it.
//   serving     the fastest serves; its throughput is watched for drift.
//   confirming  an earlier run's winner serves and is only checked against what was remembered.
//   only        there is nothing to choose from.
//
// Some candidates prepare what later calls on the same bytes find ready, and their cold calls say
// nothing about the warm ones. Cold times are provisional until a warm one is known, and never
// count as drift. A winner that would be cold here has a stand-in, until what warm calls gained
// pays for preparing more.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace choir::select {

/// What a candidate needs before its first call.
enum class Debut {
  costly,  ///< buffers and plans
  light,   ///< a mapping, or what the host MPI sets up for itself
  free,    ///< nothing
};

/// One strategy as the planner sees it for this call.
struct Candidate {
  std::string_view name;  ///< need not outlive the call it is given to
  double estimate_s = 0;  ///< infinity: not applicable, never tried
  bool cold = false;      ///< what it prepares for later calls is not ready where this one goes
  Debut debut = Debut::costly;  ///< native's is light
  double warm_estimate_s = 0;   ///< where it is cold: the same where it is not
};

enum class Phase { brief, examining, serving, confirming, only };
std::string_view phase_name(Phase phase);

struct Choice {
  int candidate = -1;  ///< index into the candidates given; -1 only when none were given
  Phase phase = Phase::only;
  std::string_view reason;  ///< valid until the next call with this signature
};

/// The numbers of the policy; the defaults are what docs/choosing.md describes.
struct Policy {
  int calls_each = 3;          ///< calls a contender serves in an examination
  int close_race = 9;          ///< calls when the scatter of times leaves the leaders undecided
  int long_race = 54;          ///< the same while serving, in late looks
  double hopeless = 1.5;       ///< dropped after one call when this many times slower than the best
  double cold_hopeless = 4;    ///< the same for calls that pay one-time costs
  double drift = 0.15;         ///< relative change of time that counts as drift
  int window = 8;              ///< serving calls whose median is compared with the reference
  double margin = 0.05;        ///< a challenger must be this much faster than the incumbent ...
  double close_margin = 0.02;  ///< ... or this much, if many calls tell
  double native_slack = 0.6;   ///< calls of native that all looks together may lose against it ...
  double native_share = 0.012;   ///< ... or this share of all calls
  double native_bonus = 0.03;    ///< native serves unless beaten by this much
  double meeting_s = 4e-6;       ///< what its calls cost beyond the time that is measured
  double early_share = 0.25;     ///< looks may cost this share of the calls so far ...
  double early_calls = 3;        ///< ... up to this many calls of the best ...
  double long_share = 0.02;      ///< ... and in the long run this share of all calls ...
  double far = 2;                ///< ... but one predicted to take this many times the best ...
  double far_after = 200;        ///< ... has to wait this many calls, and they do not count
  double changed_share = 1;      ///< after a large change: share of the calls since ...
  double changed_calls = 10;     ///< ... up to this many calls of the best
  double first_look_s = 0.5e-3;  ///< what buffers, plans, a new file may cost in a first call
  double light_look_s = 40e-6;   ///< the same for candidates that need none of them
  double native_ratio = 2;       ///< native waits too when its estimate is this many times the best
  double confirm = 0.25;         ///< a remembered result may be this much slower and still stand
  int backoff_calls = 16;        ///< calls between two examinations; doubles when they come often
  int backoff_limit = 4096;
  double rest_s = 0.02;  ///< of serving between two examinations, so that short calls do not
                         ///< chase what lasts no longer than they do
  int look_every = 8;    ///< serving calls between two thoughts about a late look, at least ...
  double look_share = 0.125;     ///< ... and this share of all calls ...
  int look_limit = 1024;         ///< ... but no more ...
  double thought_s = 12e-6;      ///< ... unless a thought, which takes this long, ...
  double thought_share = 0.01;   ///< ... would be more than this share of the calls' time
  double short_call_s = 1e-4;    ///< of calls shorter than this only every ...
  int sample_every = 64;         ///< ... so many-th is timed, from the third on; and after looks
  double tiny_call_s = 1e-5;     ///< of those estimated to be shorter than this ...
  int brief_calls = 64;          ///< ... so many are not examined ...
  int most_brief_calls = 4096;   ///< ... or more, until they are worth a thought; and ...
  int short_brief_calls = 8;     ///< ... of longer ones so many, ...
  double brief_s = 0.8e-3;       ///< ... in this time, ...
  int least_brief_calls = 3;     ///< ... if there are so many in it
  std::size_t max_states = 256;  ///< signatures remembered; the least recently used goes first
};

/// The costs of some calls, oldest first, and their mean without hiccups of more than twice the
/// usual.
class Costs {
 public:
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  double mean() const { return mean_; }
  /// The oldest go when there are more than `most`.
  void add(double cost, std::size_t most);
  void keep_only(double cost);
  void clear() { values_.clear(), mean_ = 0; }

 private:
  std::vector<double> values_;
  double mean_ = 0;
};

/// What is known of one candidate under one signature. Costs are seconds per byte.
struct CandidateState {
  std::string name;
  double estimate_s = 0;
  double warm_estimate_s = 0;  ///< the same where it is not cold
  Debut debut = Debut::costly;
  bool cold_now = false;   ///< for the call being chosen
  int cold_calls = 0;      ///< recorded
  double cold_cost = 0;    ///< mean of them, hiccups cut
  bool warm = false;       ///< a cold call is no longer among the costs
  Costs costs;             ///< of the current examination
  double known_cost = 0;   ///< of the last examination that measured it; 0: never measured
  std::int64_t calls = 0;  ///< ever served
  int outstanding = 0;     ///< started, not recorded yet
  int failures = 0;
  bool dropped = false;  ///< too slow to be called again, or failing

  bool applicable() const;
  bool measured() const { return !costs.empty(); }
  double cost() const { return costs.empty() ? known_cost : costs.mean(); }
  double bytes_per_s() const;  ///< 0: never measured
};

/// What an earlier run found.
struct Remembered {
  std::string name;
  double bytes_per_s = 0;
};

/// Everything known under one signature.
struct State {
  std::vector<CandidateState> candidates;  ///< none yet while calls of the shortest are brief
  int winner = -1;  ///< serving candidate, or the incumbent of an examination
  Phase phase = Phase::examining;
  std::string reason;
  Remembered remembered;
  std::int64_t calls = 0;        ///< started
  std::int64_t recorded = 0;     ///< finished
  std::int64_t brief_until = 0;  ///< calls that are not examined ...
  double brief_cost = 0;         ///< ... what the last of them took; 0: not known ...
  bool brief_was_cold = false;   ///< ... and whether it was cold
  bool began_briefly = false;
  std::int64_t not_native = 0;  ///< of them served by others than native ...
  double not_native_cost = 0;   ///< ... and their total, hiccups cut
  double first_look = 0;        ///< what a costly candidate's first call may cost beyond its usual
  double light_looks = 0;       ///< what first calls of light ones have cost so far
  double call_s = 0;            ///< what the last call took
  double spent = 0;             ///< what looks cost beyond the best known at their time, since ...
  std::int64_t changed_at = 0;  ///< ... the call that met another machine than before
  double calm_cost = 0;         ///< the winner's until then (0: there was no such change) ...
  double calm_estimate_s = 0;   ///< ... and what had been estimated for it
  double second = 0;            ///< the cost of a second
  double reference = 0;         ///< cost the serving calls are compared with; 0: settling
  int reference_calls = 0;      ///< calls averaged into it
  double noise = 0;             ///< relative scatter of serving calls
  std::vector<double> window;   ///< the last serving costs, oldest first
  int off_reference = 0;        ///< consecutive calls for which the window was off
  std::int64_t backoff = 0;
  std::int64_t since_examination = 0;  ///< serving calls ...
  double served_s = 0;                 ///< ... and their time
  int examinations = 0;
  std::int64_t quiet_until = 0;  ///< call before which no late look is considered
  bool asks_winner = false;      ///< a look is to be compared with what the winner takes now, ...
  int winners_answers = 0;       ///< ... which it has told so many times
  int cold = -1;                 ///< candidate of the very first call, which carried one-time costs
  int stand_in = -1;             ///< last to serve in the place of a winner that was cold
  double invested = 0;           ///< what cold calls of the winner cost beyond the stand-in ...
  double earned = 0;             ///< ... and what its warm ones gained
  bool from_memory = false;

  /// What the next run may be told: the settled winner; empty name while undecided.
  Remembered result() const;
};

class Selector {
 public:
  explicit Selector(Policy policy = {}) : policy_(policy) {}

  /// The strategy of the call that is about to start. May be called again before the record of an
  /// earlier call arrives.
  Choice next(std::uint64_t signature, std::span<const Candidate> candidates);

  /// What next() would choose, without choosing it; -1: only next() can tell.
  int peek(std::uint64_t signature, std::span<const Candidate> candidates);

  /// The candidate that serves the next call whatever the estimates are; -1: next() must be asked.
  /// `prepared`: no candidate is cold there.
  int settled(std::uint64_t signature, bool prepared = true) const;
  /// next() for a signature whose candidate is settled.
  Choice serve(std::uint64_t signature);
  /// A first call was served by `candidate` because it is short, and so will be those after it.
  /// Where more is known of the signature already this changes nothing, and no candidate is named.
  Choice serve_briefly(std::uint64_t signature, int candidate);
  /// How many of the coming calls are settled, and their time of no use: until then nobody needs to
  /// ask. A call that fails ends it.
  std::int64_t unattended(std::uint64_t signature, bool prepared = true) const;
  /// So many of them have been served.
  void serve_unattended(std::uint64_t signature, std::int64_t calls);

  /// Whether the time of a call that is settled is of any use: very short ones are sampled, but the
  /// first that is not cold tells what a candidate that was costs from now on.
  bool wants_time(std::uint64_t signature, bool prepared = true) const;
  /// A call has finished whose time was not wanted.
  void forgo_time(std::uint64_t signature, int candidate);

  /// The agreed time of a finished call. A time that is not positive and finite tells nothing and
  /// is treated as `abandon`. `cold`: as the candidate was given to next().
  void record(std::uint64_t signature, int candidate, double slowest_seconds, std::int64_t bytes,
              bool cold = false);

  /// The call failed: its time says nothing about the strategy.
  void abandon(std::uint64_t signature, int candidate);

  /// Tells what an earlier run found. No effect once the signature has served a call.
  void seed(std::uint64_t signature, Remembered remembered);

  const State* state(std::uint64_t signature) const;
  std::size_t size() const { return states_.size(); }
  const Policy& policy() const { return policy_; }

 private:
  using Entry = std::pair<std::uint64_t, State>;
  State& touch(std::uint64_t signature);
  State* find(std::uint64_t signature);
  /// A call of the candidate is no longer outstanding. Its state; null if there is none any more.
  State* ended(std::uint64_t signature, int candidate);

  Policy policy_;
  std::list<Entry> states_;  // most recently used first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> index_;
};

}  // namespace choir::select
