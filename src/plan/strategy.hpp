// strategy.hpp: the table of strategies. A strategy is four choices, and one builder turns any four
// into a plan.
//
// A new strategy is one row here, a `[strategy.NAME]` table in the configuration, or a plug-in that
// plans by itself.
#pragma once

#include <functional>
#include <optional>

#include "plan/plan.hpp"

namespace choir {

/// How the work is cut.
enum class Partition {
  owner,    ///< each rank moves what it asked for
  even,     ///< contiguous file ranges of equally many asked bytes
  stripes,  ///< the stripes of one data server
  node,     ///< what the ranks of a node asked for, ranges within it
  layout,   ///< what a group of ranks with neighbouring data asked for
};

/// Who talks to storage.
enum class Choice { every, per_node, per_server, most_data, writers };

/// What a cycle holds.
enum class Cycles { by_offset, per_rank };

struct Recipe {
  Partition partition = Partition::owner;
  Choice aggregators = Choice::every;
  Cycles cycles = Cycles::by_offset;
  Requests requests = Requests::list;
  bool node_first = false;  ///< gather on each node before data leave it
  bool scheduled = false;   ///< at most `concurrent` ranks in storage at a time
  bool operator==(const Recipe&) const = default;
};

/// What a call looks like, for estimates.
struct Situation {
  std::int64_t pieces = 0;  ///< in all
  bool writing = true;
  bool local_file_system = false;
  bool readable = true;
};

struct Strategy {
  std::string name;
  std::string summary;
  std::function<Plan(const PlanInput&)> plan;
  /// Seconds, roughly; infinity: not applicable.
  std::function<double(const PlanInput&, const Situation&)> estimate_s;
  bool warms_up = false;  ///< the first call prepares what later ones find ready
};

/// The plan of four choices.
Plan plan_recipe(const Recipe& recipe, const PlanInput& in);
double estimate_recipe(const Recipe& recipe, const PlanInput& in, const Situation& situation);

/// A strategy from a recipe; throws std::invalid_argument if the choices do not fit together.
Strategy strategy_from(std::string name, std::string summary, const Recipe& recipe);

/// Reads "even", "per_node", "by_offset", "sieve"; throws std::invalid_argument naming the accepted
/// words.
Recipe parse_recipe(const std::string& partition, const std::string& aggregators,
                    const std::string& cycles, const std::string& requests, bool node_first);

/// The strategies a job can use, in the table's order, with those added from the configuration.
class StrategyTable {
 public:
  StrategyTable();
  void add(Strategy strategy);
  const std::vector<Strategy>& rows() const { return rows_; }
  std::optional<int> find(std::string_view name) const;

 private:
  std::vector<Strategy> rows_;
};

inline constexpr double not_applicable = std::numeric_limits<double>::infinity();

/// Name of the function a plug-in exports: `extern "C" void
/// choir_add_strategies(choir::StrategyTable&)`.
inline constexpr const char* plugin_entry = "choir_add_strategies";
/// Loads a plug-in; throws std::runtime_error with the reason if it cannot.
void load_plugin(StrategyTable& table, const std::string& path);

}  // namespace choir
