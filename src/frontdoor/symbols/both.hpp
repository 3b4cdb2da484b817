// both.hpp: one function under both its names.
//
// Fortran bindings of Open MPI call only PMPI_File_*, and MPICH's mpi_f08 does for some: so choir
// defines both.
#pragma once

#define BOTH(name, parameters, body)                                                           \
  extern "C" __attribute__((visibility("default"))) int MPI_##name parameters { return body; } \
  extern "C" __attribute__((visibility("default"))) int PMPI_##name parameters { return body; }
