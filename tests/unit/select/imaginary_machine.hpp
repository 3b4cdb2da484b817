// imaginary_machine.hpp: machines with a synthetic clock, for the tests of the selector.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "select/selector.hpp"

namespace choir::select {

inline constexpr std::int64_t call_bytes = 1 << 20;
inline constexpr double never = std::numeric_limits<double>::infinity();

/// True times of candidates that drift, scatter and hiccup; every run repeats exactly.
class Machine {
 public:
  std::vector<Candidate> candidates;
  std::vector<double> truth_s;
  double noise = 0;        ///< sigma of the logarithm of a time
  double correlation = 0;  ///< between the noise of neighbouring calls
  double hiccup_share = 0;
  double first_call = 1;  ///< the very first call takes this many times longer

  explicit Machine(std::uint64_t seed = 1) : random_(seed) {}

  void add(const std::string& name, double truth, double estimate) {
    candidates.push_back({*names_.insert(name).first, estimate});
    truth_s.push_back(truth);
  }

  double time(int candidate) {
    std::normal_distribution<double> normal;
    wander_ =
        correlation * wander_ + std::sqrt(1 - correlation * correlation) * normal(random_) * noise;
    double factor = std::exp(wander_);
    if (std::uniform_real_distribution<double>()(random_) < hiccup_share) factor *= 10;
    if (calls_++ == 0) factor *= first_call;
    return truth_s[candidate] * factor;
  }

  double best_s() const {
    double best = never;
    for (std::size_t i = 0; i < truth_s.size(); ++i)
      if (std::isfinite(candidates[i].estimate_s)) best = std::min(best, truth_s[i]);
    return best;
  }
  double native_s() const { return truth_s[0]; }

 private:
  std::set<std::string> names_;
  std::mt19937_64 random_;
  double wander_ = 0;
  std::int64_t calls_ = 0;
};

struct Outcome {
  double total_s = 0;  ///< of true times: luck in the noise is neither praised nor blamed
  int switches = 0;    ///< of the winner
  std::vector<int> chosen;
};

inline Outcome run(Selector& selector, Machine& machine, int calls, std::uint64_t signature = 7,
                   const std::function<void(int)>& before_call = {}) {
  Outcome out;
  int winner = -1;
  for (int call = 0; call < calls; ++call) {
    if (before_call) before_call(call);
    const auto choice = selector.next(signature, machine.candidates);
    out.chosen.push_back(choice.candidate);
    out.total_s += machine.truth_s[choice.candidate];
    selector.record(signature, choice.candidate, machine.time(choice.candidate), call_bytes);
    const auto* state = selector.state(signature);
    if (state->phase == Phase::serving && state->winner != winner) {
      out.switches += winner >= 0;
      winner = state->winner;
    }
  }
  return out;
}

/// For the reader of a failure.
inline std::string told(const Machine& machine, const Outcome& out) {
  std::string text = "truth/estimate:";
  for (std::size_t i = 0; i < machine.truth_s.size(); ++i)
    text += ' ' + std::to_string(machine.truth_s[i]) + '/' +
            std::to_string(machine.candidates[i].estimate_s);
  text += "\nchosen: ";
  for (const int c : out.chosen) text += std::to_string(c);
  return text;
}

inline Machine usual_machine(std::uint64_t seed = 1) {
  Machine m(seed);
  m.add("native", 0.020, 0.022);
  m.add("two_phase", 0.012, 0.011);
  m.add("core_first", 0.010, 0.012);
  m.add("disk_first", 0.030, 0.025);
  m.add("individual", 0.200, 0.150);
  m.add("mapped", 0.001, never);
  return m;
}

}  // namespace choir::select
