// regret_test.cpp: what choosing costs, on many machines whose estimates are wrong.
#include <gtest/gtest.h>

#include "imaginary_machine.hpp"

namespace choir::select {
namespace {

constexpr std::uint64_t suite_seed = 42;

/// Estimates wrong by up to a factor of 1.4 either way; native anything from best to worst.
std::vector<Machine> simulated_suite() {
  std::vector<Machine> suite;
  std::mt19937_64 random(suite_seed);
  const auto between = [&](double a, double b) {
    return std::exp(std::uniform_real_distribution<double>(std::log(a), std::log(b))(random));
  };
  for (int i = 0; i < 1200; ++i) {
    Machine m(static_cast<std::uint64_t>(i) + 1);
    m.noise = i % 3 == 0 ? 0 : 0.05;
    for (const auto* name : {"native", "two_phase", "core_first", "disk_first", "hierarchical",
                             "dynamic_segmentation", "individual"}) {
      const double truth = between(0.01, 0.08);
      m.add(name, truth, truth * between(1 / 1.4, 1.4));
    }
    suite.push_back(std::move(m));
  }
  return suite;
}

// Three percent is the aim, and noise the reason why it is not a certainty: two strategies within a
// few percent cannot always be told apart in fifty calls. Of 1200 machines a handful may miss it.
TEST(Regret, HardlyEverMoreThanThreePercentWorseThanNativeInFiftyCalls) {
  int missed = 0;
  for (auto& machine : simulated_suite()) {
    Selector selector;
    const auto out = run(selector, machine, 50);
    missed += out.total_s > 50 * machine.native_s() * 1.03;
    EXPECT_LE(out.total_s, 50 * machine.native_s() * 1.05) << told(machine, out);
  }
  EXPECT_LE(missed, 6);
}

TEST(Regret, CloseToTheBestInTwoHundredCalls) {
  double sum = 0;
  const auto suite = simulated_suite();
  for (auto machine : suite) {
    Selector selector;
    const auto out = run(selector, machine, 200);
    const double worse = out.total_s / (200 * machine.best_s()) - 1;
    EXPECT_LE(worse, 0.15) << told(machine, out);
    sum += worse;
  }
  EXPECT_LE(sum / static_cast<double>(suite.size()), 0.05);
}

TEST(Regret, AJobWithFourCallsLosesLittle) {
  double ours = 0, natives = 0;
  for (auto& machine : simulated_suite()) {
    Selector selector;
    ours += run(selector, machine, 4).total_s;
    natives += 4 * machine.native_s();
  }
  EXPECT_LT(ours, natives);
}

}  // namespace
}  // namespace choir::select
