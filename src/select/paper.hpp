// paper.hpp: the rule of the Orthrus paper, for comparison (examine = "paper").
//
// Each strategy serves three calls in rotation; the one with the best mean serves until its time
// has changed by 15 %, which starts another rotation. There is no budget, and nothing is kept
// between files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "select/chooser.hpp"

namespace choir::select {

class PaperRule final : public Chooser {
 public:
  std::optional<Known> choose_unestimated(const ClassKey&, const Occasion&) override { return {}; }
  Decision choose(const ClassKey& key, std::span<const Contender> contenders,
                  const Occasion& occasion) override;
  void record(const ClassKey& key, std::string_view strategy, const Decision& decision,
              double seconds, double bytes) override;
  void record_failure(const ClassKey& key, std::string_view strategy, Role role) override;
  void forget() override { states_.clear(), clear_fingerprint(); }
  const Evidence* evidence(const ClassKey&) override { return nullptr; }

 private:
  struct Examined {
    std::string name;
    int calls = 0;
    double sum = 0;  ///< of their costs, seconds per byte
  };
  struct State {
    std::vector<Examined> examined;  ///< of this rotation
    std::string winner;              ///< empty: a rotation is under way
    double best = 0;                 ///< its mean cost
  };
  std::map<ClassKey, State> states_;
};

}  // namespace choir::select
