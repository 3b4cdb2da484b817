// multi.hpp: calls over many files: the engine's joint calls, and the host MPI's own for files it
// serves alone.
#pragma once

#include "engine/call.hpp"
#include "frontdoor/multi_entry.h"

namespace choir {

/// Collective. Waits; `statuses` may be MPI_STATUSES_IGNORE.
void multi_run(Operation operation, int count, const choir_multi_part* parts, MPI_Status* statuses,
               int* errors);
/// Nonblocking: a request per part, to be completed in any order.
void multi_start(Operation operation, int count, const choir_multi_part* parts,
                 MPI_Request* requests, int* errors);

}  // namespace choir
