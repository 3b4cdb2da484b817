// machine.hpp: where the figures were taken: host, processor, kernel, file system, MPI library.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace choir::bench {

nlohmann::json describe_machine(const std::string& directory);

/// "MPICH 4.0.2", "Open MPI 4.1.4": the first words of MPI_Get_library_version.
std::string mpi_library_name();

/// True if what this process prints ends up on a terminal: its own, or that of a launcher that
/// forwards it.
bool output_reaches_terminal();

}  // namespace choir::bench
