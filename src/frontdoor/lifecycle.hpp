// lifecycle.hpp: the beginning and the end of an MPI program.
#pragma once

namespace choir {

/// Thread level to ask of the host MPI: raised where nonblocking calls need a thread that speaks
/// MPI.
int wanted_thread_level(int asked);
/// What the program asked for lets it open several files at the same time.
bool opens_from_several_threads();
/// Ends what choir has under way. Before the host's MPI_Finalize.
void end_of_program();

}  // namespace choir
