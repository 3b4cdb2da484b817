// company.hpp: who else is in a communicator: only ranks that are known to run under choir, or
// others too.
//
// Local. Ranks that do not run under choir make none of its collectives, so choir makes none on
// their communicators either: that would hang. The ranks of one MPI_COMM_WORLD were started alike.
// Of spawned, connected or joined processes nothing is known, and with them are ranks of another
// world. Every member comes to the same answer: a communicator with two worlds has somebody else's
// ranks for all of them.
#pragma once

#include <mpi.h>

#include "trace/left.hpp"

namespace choir {

struct Company {
  trace::Left left = trace::Left::no;  ///< why its files are left to the host MPI
  /// This rank is the first of its world in the communicator: it speaks where ranks cannot agree.
  bool speaks = false;
};

/// Kept with the communicator.
Company company_of(MPI_Comm comm);

}  // namespace choir
