// imaginary_machines.hpp: chains of calls on machines with a synthetic clock: slow phases, heavy
// tails, drift, estimates that are wrong. Every run repeats exactly.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "select/rule.hpp"

namespace choir::select {

inline constexpr double call_bytes_each = 1 << 20;

class ImaginaryMachine {
 public:
  std::vector<Contender> contenders;
  std::vector<double> truth_s;

  /// Estimates are wrong by up to the factor `wrong` either way. The best and the worst kind are up
  /// to eight apart; strategies of one kind up to 1.5.
  ImaginaryMachine(std::uint64_t seed, double wrong) : random_(seed) {
    struct Row {
      const char* name;
      Kind kind;
    };
    constexpr std::array rows{
        Row{"individual", Kind::own},        Row{"scheduled_individual", Kind::own},
        Row{"two_phase", Kind::exchange},    Row{"core_first", Kind::exchange},
        Row{"hierarchical", Kind::exchange}, Row{"dynamic_segmentation", Kind::exchange},
        Row{"mapped", Kind::mapping},        Row{"native", Kind::host}};
    std::array<double, 4> level{};
    for (auto& one : level) one = factor(1, 8);
    for (const auto& row : rows) {
      const double truth = 0.01 * level[static_cast<std::size_t>(row.kind)] * factor(1, 1.5);
      const double estimate = truth * factor(1 / wrong, wrong);
      truth_s.push_back(truth);
      contenders.push_back({row.name, row.kind, estimate, estimate});
    }
  }

  /// Before each call.
  void step() {
    if (slow_calls_ > 0) {
      if (--slow_calls_ == 0) slow_ = 1;
    } else if (happens(0.02)) {
      slow_ = factor(1, 4);
      slow_calls_ = 1 + static_cast<int>(20 * uniform());
    }
    if (happens(0.002)) truth_s[static_cast<std::size_t>(8 * uniform())] *= factor(1 / 1.5, 1.5);
  }

  double time_s(int contender) {
    double time = truth_s[static_cast<std::size_t>(contender)] * slow_ * std::exp(0.1 * normal());
    if (happens(0.03)) time *= factor(2, 10);
    return time;
  }

  double best_s() const { return *std::min_element(truth_s.begin(), truth_s.end()); }

 private:
  // By hand: the distributions of the standard library differ between implementations.
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool happens(double probability) { return uniform() < probability; }
  double factor(double low, double high) { return low * std::pow(high / low, uniform()); }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

  std::mt19937_64 random_;
  double slow_ = 1;
  int slow_calls_ = 0;
};

/// Percent.
struct Regret {
  double first_20 = 0, second_100 = 0, all_200 = 0;                 ///< mean loss against the best
  double slow_after_20 = 0, slow_after_50 = 0, slow_after_200 = 0;  ///< chains with a bad server
};

/// Chains of 200 calls. `begin()` starts a chain, `choose(machine, call)` gives a contender,
/// `record(machine, contender, seconds)` takes its time, `serves(machine)` says who serves by now.
template <class Subject>
Regret regret_of(Subject&& subject, double wrong, int chains) {
  Regret sum;
  for (int chain = 1; chain <= chains; ++chain) {
    ImaginaryMachine machine(static_cast<std::uint64_t>(chain), wrong);
    subject.begin(static_cast<std::uint64_t>(chain));
    double took[4] = {}, best[4] = {};
    for (int call = 1; call <= 200; ++call) {
      machine.step();
      const int chosen = subject.choose(machine, call);
      const auto part = call <= 20 ? 0 : call <= 100 ? 1 : 2;
      for (const int one : {part, 3}) {
        took[one] += machine.truth_s[static_cast<std::size_t>(chosen)];
        best[one] += machine.best_s();
      }
      subject.record(machine, chosen, machine.time_s(chosen));
      const bool slow = machine.truth_s[static_cast<std::size_t>(subject.serves(machine))] >
                        1.2 * machine.best_s();
      if (call == 20) sum.slow_after_20 += slow;
      if (call == 50) sum.slow_after_50 += slow;
      if (call == 200) sum.slow_after_200 += slow;
    }
    sum.first_20 += took[0] / best[0] - 1;
    sum.second_100 += took[2] / best[2] - 1;
    sum.all_200 += took[3] / best[3] - 1;
  }
  for (double Regret::*one :
       {&Regret::first_20, &Regret::second_100, &Regret::all_200, &Regret::slow_after_20,
        &Regret::slow_after_50, &Regret::slow_after_200})
    sum.*one *= 100.0 / chains;
  return sum;
}

}  // namespace choir::select
