// view.hpp: file views: what choir serves of them, and what it leaves to the host MPI.
#pragma once

#include <mpi.h>

#include <optional>

#include "frontdoor/open_file.hpp"

namespace choir {

/// MPI_File_set_view.
int set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* representation, MPI_Info info);

/// Bytes [begin, end) of what the view shows. Nothing: they go backwards in the file.
std::optional<Access> access_in(const View& view, std::int64_t begin, std::int64_t end);

}  // namespace choir
