// seat.hpp: the owner's side of a pair of cycle buffers.
//
// A seat serves windows one after the other, two at a time. Every window goes through the same
// states, whether it is written or read, and whether its owner is an aggregator (bytes go to
// storage) or a relay (bytes go to an aggregator on another node):
//
//   write:  free -> open (ranks place bytes) -> moving (to storage) -> free
//   read:   free -> open (ranks mark what they need; skipped where everything is read) -> moving ->
//   full -> free
#pragma once

#include "engine/task.hpp"

namespace choir {

/// Adds the seats this rank owns under the plan, as aggregator or relay.
void add_seats(Context& context, Tasks& tasks);

}  // namespace choir
