// mapped.hpp: ranks store straight into a shared mapping of a local file.
//
// Storing into a mapping has no error to return: a full disk or a file cut short by others is a
// SIGBUS. So the range is reserved before the first store, and a SIGBUS that still comes from
// inside our mapping is caught (guarded.hpp) and becomes an error.
#pragma once

#include "engine/task.hpp"

namespace choir {

void add_mapped(Context& context, Tasks& tasks);
/// The whole of it at once.
void run_mapped(Context& context);

/// Whether move_mapped() does the same for a rank that has a single block to move: nothing but a
/// copy inside one window.
bool is_plain_copy(Operation operation, const Transfer& one);
Moved move_mapped(FileAccess& file, Operation operation, Transfer one);

}  // namespace choir
