// lifecycle.hpp: the beginnings and the ends of an MPI program: MPI_Init, sessions, or both.
#pragma once

#include <mpi.h>

#include "mpi/unique.hpp"

namespace choir {

/// Thread level to ask of the host MPI: raised where nonblocking calls need a thread that speaks
/// MPI.
int wanted_thread_level(int asked);
/// What the program asked for lets it open several files at the same time.
bool opens_from_several_threads();
/// Ends what choir has under way. Before the host's MPI_Finalize.
void end_of_world();

#ifdef CHOIR_HAS_SESSIONS
/// What a session is begun with where its thread level is raised; false where it is not.
bool raise_thread_level(MPI_Info asked, Info& raised);
/// As end_of_world, where this session is the last. Before the host's MPI_Session_finalize.
void end_of_session(MPI_Session session);
#endif

}  // namespace choir
