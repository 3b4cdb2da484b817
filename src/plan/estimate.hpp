// estimate.hpp: what a call would take under each strategy, roughly, before anything was measured.
//
// Pure: no MPI, clock or globals. Equal input gives equal estimates on every rank.
#pragma once

#include <limits>

#include "plan/machine_costs.hpp"
#include "plan/recipe.hpp"

namespace choir {

inline constexpr double not_applicable = std::numeric_limits<double>::infinity();

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
  bool reserves = true;  ///< the file system gives blocks ahead of stores
  /// What the estimates are computed from; `measured` says how far they can be trusted.
  const MachineCosts* machine = &usual_machine;
  bool host_is_right = true;  ///< no reason is known to mistrust the host MPI with this call
};

/// Seconds; not_applicable where the strategy cannot serve.
double estimate_recipe(const Recipe& recipe, const PlanInput& in, const Situation& situation);
double estimate_mapped(const PlanInput& in, const Situation& situation);
double estimate_host(const PlanInput& in, const Situation& situation);

}  // namespace choir
