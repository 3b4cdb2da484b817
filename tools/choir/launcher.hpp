// launcher.hpp: `choir run mpiexec ./app` is the wrong way round.
#pragma once

#include <string>
#include <vector>

namespace choir::command {

/// Throws UsageError, with the command turned round, if what is to be run starts MPI processes. A
/// launcher under choir would start a job whose processes choir does not know.
void refuse_launcher(const std::vector<std::string>& program,
                     const std::vector<std::string>& options_of_run);

}  // namespace choir::command
