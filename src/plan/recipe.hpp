// recipe.hpp: the four choices of a strategy, and the plan they make.
//
// Pure: no MPI, clock or globals.
#pragma once

#include <string>

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

/// The plan of four choices.
Plan plan_recipe(const Recipe& recipe, const PlanInput& in);

/// Reads "even", "per_node", "by_offset", "sieve"; throws std::invalid_argument naming the accepted
/// words.
Recipe parse_recipe(const std::string& partition, const std::string& aggregators,
                    const std::string& cycles, const std::string& requests, bool node_first);

}  // namespace choir
