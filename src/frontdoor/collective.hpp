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

/// The host MPI makes the call `name`: `file`, if choir knows it, takes note of why. False: choir
/// serves it.
bool left_to_host(OpenFile* file, std::string_view name, trace::Left why);
/// The same of a collective call by the shared file pointer, which choir never serves.
void note_shared_pointer(MPI_File handle, std::string_view name);

/// What a call asks of the engine, and the place in etypes where it begins. A bad argument is an
/// error in the request: the rank takes part, and the others learn it there.
struct Asked {
  CallRequest request;
  MPI_Offset position = 0;
  std::int64_t bytes = 0;  ///< by which the file pointer moves
};
/// For calls that return before they are done. May do this rank's part of it.
Asked ask_later(OpenFile& file, const DataCall& call);
/// Begins a nonblocking call, which may wait to be joined with those on other files.
std::shared_ptr<Call> start_joinable(OpenFile& file, CallRequest request);
/// After a call was begun: the file pointer moves by what was asked for.
void advance_pointer(OpenFile& file, const DataCall& call, MPI_Offset position, std::int64_t bytes);
/// An error class, of a code.
int class_of(int code);

/// `host` makes the same call of the host MPI.
using Host = FunctionRef<int(MPI_Status*)>;
int blocking_collective(const DataCall& call, MPI_Status* status, const Host& host);

using HostRequest = FunctionRef<int()>;
int nonblocking_collective(const DataCall& call, MPI_Request* request, const HostRequest& host);
int split_begin(const DataCall& call, const HostRequest& host);
int split_end(MPI_File handle, MPI_Status* status, const Host& host);

}  // namespace choir
