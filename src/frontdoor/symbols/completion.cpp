// completion.cpp: the calls in which requests complete, and those in which a program may wait for a
// peer.
//
// With no nonblocking collective of choir's outstanding, each is the host's own call.
#include "frontdoor/requests.hpp"
#include "mpi/real.hpp"
#include "symbols/both.hpp"

using choir::Completion;
using choir::requests_outstanding;
using choir::wait_advancing;

namespace {

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  Completion completion(1, request);
  const int code = REAL(Test)(request, flag, status);
  return code == MPI_SUCCESS && *flag != 0 ? completion.failure(0) : code;
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Completion completion(count, requests);
  const int code = REAL(Testall)(count, requests, flag, statuses);
  return code == MPI_SUCCESS && *flag != 0 ? completion.failures(statuses, nullptr, count) : code;
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Completion completion(count, requests);
  const int code = REAL(Testany)(count, requests, index, flag, status);
  return code == MPI_SUCCESS && *flag != 0 ? completion.failure(*index) : code;
}

int testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  Completion completion(count, requests);
  const int code = REAL(Testsome)(count, requests, done, indices, statuses);
  return code == MPI_SUCCESS && *done > 0 ? completion.failures(statuses, indices, *done) : code;
}

/// A request whose call has failed but which the program has not looked at yet must not reach the
/// host's wait either.
bool concerned() { return requests_outstanding() || choir::requests_failed(); }

}  // namespace

BOTH(Wait, (MPI_Request * request, MPI_Status* status),
     !concerned() ? REAL(Wait)(request, status)
                  : wait_advancing([&](int* flag) { return test(request, flag, status); }))

BOTH(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]),
     !concerned() ? REAL(Waitall)(count, requests, statuses) : wait_advancing([&](int* flag) {
       return testall(count, requests, flag, statuses);
     }))

BOTH(Waitany, (int count, MPI_Request requests[], int* index, MPI_Status* status),
     !concerned() ? REAL(Waitany)(count, requests, index, status) : wait_advancing([&](int* flag) {
       return testany(count, requests, index, flag, status);
     }))

BOTH(Waitsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
     !concerned() ? REAL(Waitsome)(count, requests, done, indices, statuses)
                  : wait_advancing([&](int* flag) {
                      const int code = testsome(count, requests, done, indices, statuses);
                      *flag = *done != 0 ? 1 : 0;
                      return code;
                    }))

BOTH(Test, (MPI_Request * request, int* flag, MPI_Status* status), test(request, flag, status))
BOTH(Testall, (int count, MPI_Request requests[], int* flag, MPI_Status statuses[]),
     testall(count, requests, flag, statuses))
BOTH(Testany, (int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status),
     testany(count, requests, index, flag, status))
BOTH(Testsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
     testsome(count, requests, done, indices, statuses))
BOTH(Request_get_status, (MPI_Request request, int* flag, MPI_Status* status),
     (choir::advance_requests(), REAL(Request_get_status)(request, flag, status)))
BOTH(Request_free, (MPI_Request * request),
     (choir::release_request(*request), REAL(Request_free)(request)))

BOTH(Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status),
     !requests_outstanding()
         ? REAL(Probe)(source, tag, comm, status)
         : wait_advancing([&](int* flag) { return REAL(Iprobe)(source, tag, comm, flag, status); }))

namespace {

/// A blocking transfer as a nonblocking one that is waited for while everything advances.
template <class Start>
int transfer(MPI_Status* status, Start&& start) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = start(&request);
  if (code != MPI_SUCCESS) return code;
  return wait_advancing([&](int* flag) { return REAL(Test)(&request, flag, status); });
}

}  // namespace

BOTH(Recv,
     (void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
      MPI_Status* status),
     !requests_outstanding() ? REAL(Recv)(buffer, count, type, source, tag, comm, status)
                             : transfer(status, [&](MPI_Request* request) {
                                 return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
                               }))
BOTH(Send, (const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
     !requests_outstanding() ? REAL(Send)(buffer, count, type, to, tag, comm)
                             : transfer(MPI_STATUS_IGNORE, [&](MPI_Request* request) {
                                 return PMPI_Isend(buffer, count, type, to, tag, comm, request);
                               }))
BOTH(Ssend, (const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
     !requests_outstanding() ? REAL(Ssend)(buffer, count, type, to, tag, comm)
                             : transfer(MPI_STATUS_IGNORE, [&](MPI_Request* request) {
                                 return PMPI_Issend(buffer, count, type, to, tag, comm, request);
                               }))
