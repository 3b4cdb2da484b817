// loading.hpp: choir-bench talks to choir as any program does: through the preloaded library.
#pragma once

namespace choir::bench {

/// Starts this program again with choir's library loaded, if it is not and can be found. Returns
/// where it cannot. Before MPI_Init.
void load_choir(int argc, char** argv);

}  // namespace choir::bench
