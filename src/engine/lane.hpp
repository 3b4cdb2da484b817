// lane.hpp: a rank's way to one aggregator: its bytes go window by window into (or out of) the
// cycle buffers.
//
// A local lane places bytes at their final position in shared memory; a remote lane sends packets.
// Through a relay, a lane is local to the relay's cycle buffer.
#pragma once

#include <functional>

#include "engine/task.hpp"

namespace choir {

/// Adds this rank's lanes to all aggregators it has bytes for.
void add_lanes(Context& context, Tasks& tasks);
/// The same, each to the tasks given for its aggregator's rank.
void add_lanes(Context& context, const std::function<Tasks&(int rank)>& tasks_towards);

}  // namespace choir
