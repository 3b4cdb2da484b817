// opening.hpp: what choir does when a file is opened, asked about and closed.
#pragma once

#include <mpi.h>

#include "frontdoor/open_file.hpp"

namespace choir {

int open_file(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle);
int close_file(MPI_File* handle);
int set_info(MPI_File handle, MPI_Info info);
int get_info(MPI_File handle, MPI_Info* info);
int sync_file(MPI_File handle);
int set_atomicity(MPI_File handle, int flag);
int set_size(MPI_File handle, MPI_Offset size);

}  // namespace choir
