// job.hpp: the processes of this job, and whether MPI is there: by MPI_Init, by sessions, or both.
//
// A program of sessions alone has no MPI_COMM_WORLD. Its job are the processes of "mpi://WORLD",
// which have the same ranks. Local, thread-safe.
#pragma once

#include <mpi.h>

namespace choir {

/// A group of all processes of the job, to be freed; MPI_GROUP_EMPTY if MPI does not tell.
MPI_Group job_group();
/// This process in the job; 0 of 1 if MPI does not tell.
int job_rank();
int job_size();
/// Threads beside the program's may call MPI.
bool job_allows_threads();

/// Between MPI_Init and MPI_Finalize.
bool world_is_there();
/// Neither the world nor a session is left: nothing may be freed, and nothing needs to be.
bool mpi_is_over();

/// What the front door sees of the program's beginnings and ends.
void world_began();
#ifdef CHOIR_HAS_SESSIONS
void session_began(MPI_Session session);
/// Before its end.
void session_ends(MPI_Session session);
#endif
int open_sessions();

}  // namespace choir
