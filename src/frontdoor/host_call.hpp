// host_call.hpp: the host MPI's own collective call, made so that it is right.
//
// MPICH 4.0.2 moves wrong bytes for some derived types in memory: those whose bytes do not ascend,
// or do not begin at the buffer's address. So a call that choir hands to the host has its bytes in
// one piece: they are packed before a write, and unpacked after a read.
#pragma once

#include "frontdoor/collective.hpp"

namespace choir {

/// Collective, as the call is. `host` makes it with the program's own arguments.
int call_host(const DataCall& call, const Host& host, MPI_Status* status);

}  // namespace choir
