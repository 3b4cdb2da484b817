// seats.hpp: the seats a rank owns in a call.
#pragma once

#include "engine/task.hpp"

namespace choir {

/// Adds the seats this rank owns under the plans, as aggregator or relay. Calls that are carried
/// out together share its cycle buffers: while one call's window is at the storage, the next one's
/// is gathered.
void add_seats(std::span<Context* const> calls, Tasks& tasks);

}  // namespace choir
