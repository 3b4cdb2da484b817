// datatype.hpp: MPI datatypes as tiles of runs. The only part of access/ that knows mpi.h.
#pragma once

#include <mpi.h>

#include "access/layout.hpp"

namespace choir {

/// The tile of a committed datatype, decoded once and kept with the datatype (an attribute, so it
/// dies with it). Throws MpiError if the datatype is not valid. Local.
TilePtr tile_of(MPI_Datatype type);

}  // namespace choir
