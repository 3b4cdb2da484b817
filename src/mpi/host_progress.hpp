// host_progress.hpp: being called from inside the host MPI's own waiting.
//
// A blocking collective of the program's must not be turned into its nonblocking twin: MPI never
// matches the two, and whether a rank has file requests outstanding is only known to that rank. So
// work that has to go on while the program waits in any MPI call is hung into the loop in which the
// MPI library itself waits, where it lets us: Open MPI does, MPICH does not.
#pragma once

namespace choir {

/// From now on the host calls `advance` whenever it waits or tests for anything, in the thread that
/// does. `advance` returns how many things it moved on, and may call MPI. False if this MPI has no
/// such place. Local.
bool join_host_progress(int (*advance)());
/// Takes it back. Local.
void leave_host_progress(int (*advance)());

}  // namespace choir
