// mapped.hpp: ranks store straight into a shared mapping of a local file.
//
// Storing into a mapping has no error to return: a full disk or a file cut short by others is a
// SIGBUS. So the range is reserved before the first store, and a SIGBUS that still comes from
// inside our mapping is caught (guarded.hpp) and becomes an error. Where there are no blocks to be
// had ahead, or no room for a window (`ulimit -v`), a rank's bytes go by requests instead: no other
// rank needs to know.
#pragma once

#include "engine/task.hpp"

namespace choir {

void add_mapped(Context& context, Tasks& tasks);

}  // namespace choir
