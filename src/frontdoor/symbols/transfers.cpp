// transfers.cpp: the program's blocking messages, in which it may wait for a peer that waits for a
// file.
//
// While calls are under way that only the program's own MPI calls advance, a blocking transfer is
// carried out as its nonblocking twin, which MPI matches with either form, and everything advances
// meanwhile. Collectives have no such twin: MPI never matches a blocking with a nonblocking one
// (see mpi/host_progress.hpp). Otherwise each is the host's own call, after one look at a counter.
#include "engine/progress.hpp"
#include "frontdoor/requests.hpp"
#include "mpi/real.hpp"
#include "symbols/both.hpp"

using choir::wait_advancing;

namespace {

bool alone() { return !choir::Progress::instance().program_needed(); }

template <class Start>
int transfer(MPI_Status* status, Start&& start) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = start(&request);
  if (code != MPI_SUCCESS) return code;
  return wait_advancing([&](int* flag) { return REAL(Test)(&request, flag, status); });
}

/// Both halves of an exchange; `status` is the receive's.
template <class Receive, class Send>
int exchange(MPI_Status* status, Receive&& receive, Send&& send) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (const int code = receive(&requests[0]); code != MPI_SUCCESS) return code;
  if (const int code = send(&requests[1]); code != MPI_SUCCESS) {
    PMPI_Cancel(&requests[0]);
    REAL(Request_free)(&requests[0]);
    return code;
  }
  const int code =
      wait_advancing([&](int* flag) { return REAL(Test)(&requests[0], flag, status); });
  const int sent =
      wait_advancing([&](int* flag) { return REAL(Test)(&requests[1], flag, MPI_STATUS_IGNORE); });
  return code != MPI_SUCCESS ? code : sent;
}

}  // namespace

#define SENDING(name, twin, Count, suffix)                                                   \
  BOTH(name##suffix,                                                                         \
       (const void* buffer, Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm), \
       alone() ? REAL(name##suffix)(buffer, count, type, to, tag, comm)                      \
               : transfer(MPI_STATUS_IGNORE, [&](MPI_Request* request) {                     \
                   return PMPI_##twin##suffix(buffer, count, type, to, tag, comm, request);  \
                 }))

#define TRANSFERS(Count, suffix)                                                                  \
  SENDING(Send, Isend, Count, suffix)                                                             \
  SENDING(Ssend, Issend, Count, suffix)                                                           \
  SENDING(Rsend, Irsend, Count, suffix)                                                           \
  BOTH(Recv##suffix,                                                                              \
       (void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,         \
        MPI_Status* status),                                                                      \
       alone() ? REAL(Recv##suffix)(buffer, count, type, source, tag, comm, status)               \
               : transfer(status, [&](MPI_Request* request) {                                     \
                   return PMPI_Irecv##suffix(buffer, count, type, source, tag, comm, request);    \
                 }))                                                                              \
  BOTH(Mrecv##suffix,                                                                             \
       (void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status),  \
       alone() ? REAL(Mrecv##suffix)(buffer, count, type, message, status)                        \
               : transfer(status, [&](MPI_Request* request) {                                     \
                   return PMPI_Imrecv##suffix(buffer, count, type, message, request);             \
                 }))                                                                              \
  BOTH(Sendrecv##suffix,                                                                          \
       (const void* out, Count out_count, MPI_Datatype out_type, int to, int out_tag, void* in,   \
        Count in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,                \
        MPI_Status* status),                                                                      \
       alone()                                                                                    \
           ? REAL(Sendrecv##suffix)(out, out_count, out_type, to, out_tag, in, in_count, in_type, \
                                    from, in_tag, comm, status)                                   \
           : exchange(                                                                            \
                 status,                                                                          \
                 [&](MPI_Request* request) {                                                      \
                   return PMPI_Irecv##suffix(in, in_count, in_type, from, in_tag, comm, request); \
                 },                                                                               \
                 [&](MPI_Request* request) {                                                      \
                   return PMPI_Isend##suffix(out, out_count, out_type, to, out_tag, comm,         \
                                             request);                                            \
                 }))

TRANSFERS(int, )
#ifdef CHOIR_HAS_LARGE_COUNT
TRANSFERS(MPI_Count, _c)
#endif

BOTH(Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status),
     alone() ? REAL(Probe)(source, tag, comm, status) : wait_advancing([&](int* flag) {
       return REAL(Iprobe)(source, tag, comm, flag, status);
     }))
BOTH(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status),
     alone() ? REAL(Mprobe)(source, tag, comm, message, status) : wait_advancing([&](int* flag) {
       return REAL(Improbe)(source, tag, comm, flag, message, status);
     }))
