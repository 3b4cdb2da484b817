// strategy.hpp: the table of strategies. A strategy is four choices, and one builder turns any four
// into a plan.
//
// A new strategy is one row here, a `[strategy.NAME]` table in the configuration, or a plug-in that
// plans by itself.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/estimate.hpp"

namespace choir {

/// Who makes a strategy's plans: equal values make equal plans from equal input.
struct Planner {
  std::optional<Recipe> recipe = {};
  // Where it is no recipe, but a function:
  std::string name = {};
  std::string library = {};  ///< empty: choir itself

  bool operator==(const Planner&) const = default;
};

struct Strategy {
  std::string name;
  std::string summary;
  std::function<Plan(const PlanInput&)> plan;
  /// Seconds, roughly; infinity: not applicable.
  std::function<double(const PlanInput&, const Situation&)> estimate_s;
  bool warms_up = false;  ///< a call prepares what later ones on the same bytes find ready
  bool alone = false;     ///< no rank waits for another: its plans are independent()
  Planner planner = {};
};

/// A strategy from a recipe; throws std::invalid_argument if the choices do not fit together.
Strategy strategy_from(std::string name, std::string summary, const Recipe& recipe);

/// The strategies a job can use, in the table's order, with those added from the configuration.
class StrategyTable {
 public:
  StrategyTable();
  void add(Strategy strategy);
  /// Strategies that were not there when there were `before` come from this library.
  void note_library(std::size_t before, const std::string& library);
  const std::vector<Strategy>& rows() const { return rows_; }
  std::optional<int> find(std::string_view name) const;

 private:
  std::vector<Strategy> rows_;
};

}  // namespace choir
