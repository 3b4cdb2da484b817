// collective.hpp: the collective data calls: what the program asked, turned into a call of the
// engine.
#pragma once

#include <mpi.h>

#include <optional>

#include "frontdoor/function_ref.hpp"
#include "frontdoor/open_file.hpp"

namespace choir {

/// A data call's arguments, whichever of the 40 functions it came through.
struct DataCall {
  MPI_File handle;
  Operation operation;
  std::string_view name;
  std::optional<MPI_Offset> offset;  ///< in etypes; nothing: the individual file pointer
  void* buffer;
  std::int64_t count;
  MPI_Datatype type;
};

/// The individual file pointer, in etypes. `file` may be null.
int individual_pointer(const OpenFile* file, MPI_File handle, MPI_Offset* position);

int seek(MPI_File handle, MPI_Offset offset, int whence);

/// `host` makes the same call of the host MPI.
using Host = FunctionRef<int(MPI_Status*)>;
int blocking_collective(const DataCall& call, MPI_Status* status, const Host& host);

using HostRequest = FunctionRef<int()>;
int nonblocking_collective(const DataCall& call, MPI_Request* request, const HostRequest& host);
int split_begin(const DataCall& call, const HostRequest& host);
int split_end(MPI_File handle, MPI_Status* status, const Host& host);

}  // namespace choir
