// completion.cpp: the calls in which requests complete.
//
// With no nonblocking collective of choir's concerned, each is the host's own call.
#include <sched.h>

#include "frontdoor/requests.hpp"
#include "mpi/real.hpp"
#include "symbols/both.hpp"

using choir::await_calls;
using choir::Completion;
using choir::concerns_requests;
using choir::wait_advancing;

namespace {

/// A program that tests in a loop must leave the progress thread a core to work on.
void not_yet() {
  if (choir::requests_outstanding()) sched_yield();
}

bool settled(int code) { return code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS; }

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  Completion completion(1, request);
  const int code = REAL(Test)(request, flag, status);
  if (code != MPI_SUCCESS) return code;
  if (*flag != 0) return completion.failure(0);
  not_yet();
  return code;
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Completion completion(count, requests);
  const int code = REAL(Testall)(count, requests, flag, statuses);
  if (settled(code) && (*flag != 0 || code != MPI_SUCCESS))
    return completion.failures(code, statuses, nullptr, count);
  if (code == MPI_SUCCESS) not_yet();
  return code;
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Completion completion(count, requests);
  const int code = REAL(Testany)(count, requests, index, flag, status);
  if (code != MPI_SUCCESS) return code;
  if (*flag != 0) return completion.failure(*index);
  not_yet();
  return code;
}

int testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  Completion completion(count, requests);
  const int code = REAL(Testsome)(count, requests, done, indices, statuses);
  if (settled(code) && *done > 0) return completion.failures(code, statuses, indices, *done);
  if (code == MPI_SUCCESS) not_yet();
  return code;
}

/// Where only file calls are left to wait for, they are waited for as blocking ones are: on their
/// bell.
int wait(MPI_Request* request, MPI_Status* status) {
  await_calls(1, request);
  return wait_advancing([&](int* flag) { return test(request, flag, status); });
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  await_calls(count, requests);
  return wait_advancing([&](int* flag) { return testall(count, requests, flag, statuses); });
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  return wait_advancing([&](int* flag) { return testany(count, requests, index, flag, status); });
}

int waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return wait_advancing([&](int* flag) {
    const int code = testsome(count, requests, done, indices, statuses);
    *flag = *done != 0 ? 1 : 0;
    return code;
  });
}

}  // namespace

BOTH(Wait, (MPI_Request * request, MPI_Status* status),
     concerns_requests(1, request) ? wait(request, status) : REAL(Wait)(request, status))
BOTH(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]),
     concerns_requests(count, requests) ? waitall(count, requests, statuses)
                                        : REAL(Waitall)(count, requests, statuses))
BOTH(Waitany, (int count, MPI_Request requests[], int* index, MPI_Status* status),
     concerns_requests(count, requests) ? waitany(count, requests, index, status)
                                        : REAL(Waitany)(count, requests, index, status))
BOTH(Waitsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
     concerns_requests(count, requests) ? waitsome(count, requests, done, indices, statuses)
                                        : REAL(Waitsome)(count, requests, done, indices, statuses))
BOTH(Test, (MPI_Request * request, int* flag, MPI_Status* status),
     concerns_requests(1, request) ? test(request, flag, status)
                                   : REAL(Test)(request, flag, status))
BOTH(Testall, (int count, MPI_Request requests[], int* flag, MPI_Status statuses[]),
     concerns_requests(count, requests) ? testall(count, requests, flag, statuses)
                                        : REAL(Testall)(count, requests, flag, statuses))
BOTH(Testany, (int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status),
     concerns_requests(count, requests) ? testany(count, requests, index, flag, status)
                                        : REAL(Testany)(count, requests, index, flag, status))
BOTH(Testsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
     concerns_requests(count, requests) ? testsome(count, requests, done, indices, statuses)
                                        : REAL(Testsome)(count, requests, done, indices, statuses))
BOTH(Request_get_status, (MPI_Request request, int* flag, MPI_Status* status),
     (choir::advance_requests(), REAL(Request_get_status)(request, flag, status)))
BOTH(Request_free, (MPI_Request * request),
     (choir::release_request(*request), REAL(Request_free)(request)))
