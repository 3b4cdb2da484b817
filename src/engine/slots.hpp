// slots.hpp: the exchange with fixed bytes per rank and cycle (static segmentation).
//
// Each rank has a slot in its writer's cycle buffer (or sends packets from another node). In every
// round a rank that still has bytes delivers one packet: which bytes, and the bytes. The writer
// merges the packets of a round in file order and moves them at once. Slots are double: ranks fill
// the next round meanwhile.
#pragma once

#include "engine/task.hpp"

namespace choir {

void add_slots(Context& context, Tasks& tasks);

}  // namespace choir
