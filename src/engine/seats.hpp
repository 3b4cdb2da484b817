// seats.hpp: the seats a rank owns in a call.
#pragma once

#include "engine/task.hpp"

namespace choir {

/// Adds the seats this rank owns under the plan, as aggregator or relay.
void add_seats(Context& context, Tasks& tasks);

}  // namespace choir
