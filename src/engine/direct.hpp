// direct.hpp: every rank moves its own bytes: straight between the program's buffer and the file.
#pragma once

#include "engine/task.hpp"

namespace choir {

/// Individual transfers; under a plan with `concurrent` > 0, at most that many ranks are in storage
/// at a time.
void add_direct(Context& context, Tasks& tasks);
}  // namespace choir
