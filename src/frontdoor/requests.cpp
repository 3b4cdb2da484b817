#include "frontdoor/requests.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <unordered_map>

#include "engine/progress.hpp"
#include "mpi/error.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

/// One nonblocking call the program holds a request for. Freed by MPI's callback.
struct Pending {
  std::shared_ptr<Call> call;
  OpenFile* file;  ///< null once the file is closed
  MPI_Request request = MPI_REQUEST_NULL;
  std::int64_t bytes = 0;
};

struct Failure {
  int error_class;
  MPI_File file;
};

struct Requests {
  std::mutex mutex;
  std::unordered_map<MPI_Request, Failure> failed;  ///< complete, and not yet told to the program
  std::atomic<int> failed_count{0};
  std::list<Pending*> waiting;  ///< not told to MPI yet
  std::atomic<int> count{0};
};

Requests& requests() {
  static auto* const all = new Requests;
  return *all;
}

extern "C" int query_request(void* state, MPI_Status* status) {
  const auto* pending = static_cast<const Pending*>(state);
  set_status(status, pending->bytes);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

extern "C" int free_request(void* state) {
  auto* pending = static_cast<Pending*>(state);
  const std::lock_guard lock(requests().mutex);
  if (pending->file != nullptr) --pending->file->requests;
  delete pending;
  return MPI_SUCCESS;
}

/// A collective that has begun cannot be taken back on one rank: the standard lets cancel have no
/// effect.
extern "C" int cancel_request(void*, int) { return MPI_SUCCESS; }

}  // namespace

void set_status(MPI_Status* status, std::int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
  PMPI_Status_set_cancelled(status, 0);
}

int make_request(OpenFile& file, const std::shared_ptr<Call>& call, MPI_Request* request) {
  auto* pending = new Pending{call, &file};
  const int code =
      PMPI_Grequest_start(query_request, free_request, cancel_request, pending, request);
  if (code != MPI_SUCCESS) {
    delete pending;
    return code;
  }
  pending->request = *request;
  auto& all = requests();
  const std::lock_guard lock(all.mutex);
  all.waiting.push_back(pending);
  all.count.fetch_add(1, std::memory_order_relaxed);
  ++file.requests;
  return MPI_SUCCESS;
}

bool requests_outstanding() { return requests().count.load(std::memory_order_relaxed) > 0; }

bool requests_failed() { return requests().failed_count.load(std::memory_order_relaxed) > 0; }

void advance_requests() {
  if (!requests_outstanding()) return;
  Progress::instance().poll();
  auto& all = requests();
  std::list<Pending*> finished;
  {
    const std::lock_guard lock(all.mutex);
    for (auto at = all.waiting.begin(); at != all.waiting.end();) {
      const auto next = std::next(at);
      if ((*at)->call->done()) {
        if (const int error = (*at)->call->error(); error != 0) {
          all.failed[(*at)->request] = {
              error, (*at)->file != nullptr ? (*at)->file->handle : MPI_FILE_NULL};
          all.failed_count = static_cast<int>(all.failed.size());
        }
        (*at)->bytes = (*at)->call->bytes();
        (*at)->call.reset();
        finished.splice(finished.end(), all.waiting, at);
        all.count.fetch_sub(1, std::memory_order_relaxed);
      }
      at = next;
    }
  }
  // Outside the lock: a request the program has freed already is destroyed in here.
  for (auto* pending : finished) PMPI_Grequest_complete(pending->request);
}

void release_request(MPI_Request request) {
  auto& all = requests();
  {
    const std::lock_guard lock(all.mutex);
    all.failed.erase(request);
    all.failed_count = static_cast<int>(all.failed.size());
    const auto found =
        std::find_if(all.waiting.begin(), all.waiting.end(),
                     [&](const Pending* pending) { return pending->request == request; });
    if (found == all.waiting.end()) return;
    (*found)->call.reset();
    all.waiting.erase(found);
    all.count.fetch_sub(1, std::memory_order_relaxed);
  }
  // MPICH frees the state of an active generalized request at once, so it must not be active any
  // more.
  PMPI_Grequest_complete(request);
}

Completion::Completion(int count, const MPI_Request* given) {
  advance_requests();
  if (requests().failed_count.load(std::memory_order_relaxed) > 0)
    before_.assign(given, given + count);
}

int Completion::failure(int index) {
  if (before_.empty() || index < 0 || index >= static_cast<int>(before_.size())) return MPI_SUCCESS;
  auto& all = requests();
  Failure failure{};
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.failed.find(before_[static_cast<std::size_t>(index)]);
    if (found == all.failed.end()) return MPI_SUCCESS;
    failure = found->second;
    all.failed.erase(found);
    all.failed_count = static_cast<int>(all.failed.size());
  }
  return raise(failure.file, failure.error_class);
}

int Completion::failures(MPI_Status* statuses, const int* indices, int count) {
  if (before_.empty()) return MPI_SUCCESS;
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const int error = failure(indices != nullptr ? indices[i] : i);
    if (statuses != MPI_STATUSES_IGNORE) statuses[i].MPI_ERROR = error;
    any = any || error != MPI_SUCCESS;
  }
  return any ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

void retire_requests(OpenFile* file) {
  advance_requests();
  auto& all = requests();
  const std::lock_guard lock(all.mutex);
  for (auto* pending : all.waiting)
    if (pending->file == file) pending->file = nullptr;
}

void idle_moment(int& looks) {
  constexpr int busy_looks = 50;
  if (++looks < busy_looks) {
    sched_yield();
    return;
  }
  const timespec moment{0, 20'000};
  nanosleep(&moment, nullptr);
}

}  // namespace choir
