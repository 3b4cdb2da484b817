// real.hpp: the host MPI's own functions, behind the symbols choir overrides.
//
// choir defines both MPI_X and PMPI_X (Fortran bindings call either), so the host's function is the
// next definition of PMPI_X after ours. Under Python the MPI library is loaded privately and
// RTLD_NEXT finds nothing; then it is asked by its library's name.
#pragma once

#include <mpi.h>

namespace choir {

/// Address of the host's PMPI_NAME; aborts with a clear message if the MPI library does not have
/// it.
void* real_symbol(const char* name);
/// Any symbol behind ours, of the MPI library or of those it is made of; null if there is none.
void* optional_symbol(const char* name);

}  // namespace choir

/// The host's function of this name, looked up once: REAL(Wait)(request, status).
#define REAL(name)                                                                     \
  ([]() -> decltype(&PMPI_##name) {                                                    \
    static const auto address =                                                        \
        reinterpret_cast<decltype(&PMPI_##name)>(::choir::real_symbol("PMPI_" #name)); \
    return address;                                                                    \
  }())
