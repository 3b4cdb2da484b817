// requests.hpp: nonblocking collectives as real MPI_Requests.
//
// A request is a generalized request. The engine finishes calls in any thread, but only the
// program's thread, inside a completion call, tells MPI so: a program that asked for no threads
// must not get any.
#pragma once

#include <mpi.h>

#include <vector>

#include "frontdoor/open_file.hpp"

namespace choir {

/// A request for a started call.
int make_request(OpenFile& file, const std::shared_ptr<Call>& call, MPI_Request* request);

/// Requests of calls that are not known to MPI as complete yet.
bool requests_outstanding();
/// A completion call given these requests has to be choir's: one of them is of a call that is not
/// known to MPI as complete, or has failed, or calls are under way that nobody else advances.
bool concerns_requests(int count, const MPI_Request* requests);
/// The program gives a request away: its call goes on, MPI hears that it is complete.
void release_request(MPI_Request request);
/// Advances what has no thread once, and completes the requests of finished calls.
void advance_requests();
/// Waits for the calls behind these requests, if all of them are choir's: a request of the
/// program's own may be what a peer has to see before it takes part. The requests stay.
void await_calls(int count, const MPI_Request* requests);

/// Calls `test` until it says so, advancing everything meanwhile.
template <class Test>
int wait_advancing(Test&& test);

/// The file goes away: its requests stay valid but no longer refer to it.
void retire_requests(OpenFile* file);

/// Gives the core away, for longer the more often nothing was found to do.
void idle_moment(int& looks);

template <class Test>
int wait_advancing(Test&& test) {
  int looks = 0;
  while (true) {
    advance_requests();
    int flag = 0;
    const int code = test(&flag);
    if (code != MPI_SUCCESS || flag != 0) return code;
    idle_moment(looks);
  }
}

/// The requests a completion call was given, as they were before it: MPI forgets a request it
/// completes. A failed call is reported here and not by MPI, whose handler for generalized requests
/// is the communicator's, and would abort.
class Completion {
 public:
  Completion(int count, const MPI_Request* requests);
  /// Request `index` is complete: its error class, told to its file's error handler; 0 if it did
  /// not fail.
  int failure(int index);
  /// All requests (or those in `indices`) are complete, and the host says `host_code` of its own;
  /// sets the statuses' errors. MPI_ERR_IN_STATUS if any failed.
  int failures(int host_code, MPI_Status* statuses, const int* indices, int count);

 private:
  std::vector<MPI_Request> before_;  ///< empty: nothing has failed
};

/// Sets a status to `bytes` bytes.
void set_status(MPI_Status* status, std::int64_t bytes);

}  // namespace choir
