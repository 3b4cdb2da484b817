// host_costs.hpp: what the collective calls of the MPI library below choir cost.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <cstring>

#include "plan/machine_costs.hpp"

namespace choir {

/// Local. Open MPI has ROMIO too, and a user may ask for it.
inline HostCosts host_costs() {
#ifdef OPEN_MPI
  const char* const io = std::getenv("OMPI_MCA_io");
  return io != nullptr && std::strncmp(io, "romio", 5) == 0 ? romio_costs : ompio_costs;
#else
  return romio_costs;
#endif
}

}  // namespace choir
