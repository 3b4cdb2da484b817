// native.hpp: the host MPI's algorithm (ROMIO's two-phase), for comparison.
//
// One aggregator per node with an equal range of the file. Every rank sends every aggregator the
// offset and length of each piece (16 bytes) in its range; then, a cycle at a time, all ranks
// exchange how much they will send to whom (an all-to-all of 4 bytes per pair, by Bruck's method)
// and the data. Exchange and storage never overlap. Pure.
#pragma once

#include "model/requests.hpp"

namespace choir::model {

inline constexpr std::int64_t native_cycle_bytes = 16 << 20;

/// The plan that describes who gets what, in the model's own terms.
Plan native_plan(const Call& call);

struct Native {
  Traffic traffic;
  std::int64_t cycles = 0;           ///< of the whole call; all ranks take part in each
  std::int64_t list_bytes = 0;       ///< offsets and lengths between nodes
  std::int64_t most_list_bytes = 0;  ///< that one aggregator must hold
  std::int64_t alltoall_bytes = 0;   ///< between nodes
  std::int64_t alltoall_messages = 0;
};
Native count_native(const Call& call);

}  // namespace choir::model
