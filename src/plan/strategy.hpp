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
  bool new_ground = false;  ///< the file may have no blocks yet where the call writes
  bool prepared = false;    ///< a call by mapping has been there before
  /// Bytes of the file that were written before: writing them again, a program may find them in the
  /// caches. 0: unknown.
  std::int64_t written_bytes = 0;
};

struct Strategy {
  std::string name;
  std::string summary;
  std::function<Plan(const PlanInput&)> plan;
  /// Seconds, roughly; infinity: not applicable.
  std::function<double(const PlanInput&, const Situation&)> estimate_s;
  bool warms_up = false;  ///< a call prepares what later ones on the same bytes find ready
  bool alone = false;     ///< no rank waits for another: its plans are independent()
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

/// What choir and a plug-in must agree on: types that both lay out and pass to each other. A
/// plug-in built for another choir has another number, and is refused instead of crashing the
/// program.
constexpr std::uint64_t plugin_layout() {
  std::uint64_t layout = 1;  // to be raised when a field changes its meaning but not its size
  for (const auto size : {sizeof(Plan), sizeof(Aggregator), sizeof(PlanInput), sizeof(RankSummary),
                          sizeof(Parameters), sizeof(Situation), sizeof(Strategy)})
    layout = layout * 1009 + size;
  return layout;
}

/// Defines what a plug-in exports: CHOIR_STRATEGIES(table) { table.add(...); }
#define CHOIR_STRATEGIES(table)                                                           \
  extern "C" __attribute__((visibility("default"))) std::uint64_t choir_plugin_layout() { \
    return choir::plugin_layout();                                                        \
  }                                                                                       \
  extern "C" __attribute__((visibility("default"))) void choir_add_strategies(            \
      choir::StrategyTable& table)

/// Loads a plug-in; throws std::runtime_error with the reason if it cannot.
void load_plugin(StrategyTable& table, const std::string& path);

}  // namespace choir
