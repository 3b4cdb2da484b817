// predict.hpp: the bytes a placement sends between nodes, per strategy.
//
// Asks choir's own plans who aggregates which part of the file, and the recorded shapes who has how
// many bytes there; nothing is simulated.
#pragma once

#include <string>
#include <vector>

#include "place/placement.hpp"
#include "plan/plan.hpp"

namespace choir::place {

struct Traffic {
  double between_nodes = 0;  ///< bytes that leave their node
  double busiest_node = 0;   ///< bytes in or out of the node with most of them
  double all = 0;            ///< bytes asked for
};

struct PredictOptions {
  Parameters parameters;  ///< aggregators, groups, stripes, as choir would be told
};

/// Strategies whose exchange can be predicted, in the table's order; disk_first only if stripes are
/// known.
std::vector<std::string> predictable_strategies(const PredictOptions& options);

/// The traffic of all recorded calls. Calls whose shape was not kept are taken to behave as those
/// kept. Throws std::invalid_argument for an unknown strategy or a recording without collective
/// calls.
Traffic predict(const Recording& recording, const Machine& machine, const std::vector<int>& node_of,
                const std::string& strategy, const PredictOptions& options);

/// A placement and who made it.
struct Choice {
  std::string name;
  Placement placement;
};
/// Of the candidates with the fewest predicted bytes between nodes (within 1 % of all bytes) the
/// one with the lightest cut, so that strategies that exchange among neighbours gain where this one
/// does not; then the first.
Choice choose(const std::vector<Choice>& candidates, const Problem& problem,
              const std::string& strategy, const PredictOptions& options);

}  // namespace choir::place
