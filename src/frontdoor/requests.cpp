#include "frontdoor/requests.hpp"

#include <sched.h>
#include <time.h>

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "engine/progress.hpp"
#include "mpi/error.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

/// One nonblocking call the program holds a request for. Freed by MPI's callback.
struct Pending {
  std::shared_ptr<Call> call;
  OpenFile* file;  ///< null once the file is closed
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
  std::unordered_map<MPI_Request, Pending*> waiting;  ///< not told to MPI yet
  std::atomic<int> count{0};                          ///< of `waiting`
  std::unordered_set<Pending*> live;                  ///< the program still holds their requests
};

Requests& requests() {
  static auto* const all = new Requests;
  return *all;
}

extern "C" int query_request(void* state, MPI_Status* status) {
  const auto* pending = static_cast<const Pending*>(state);
  {
    const std::lock_guard lock(requests().mutex);  // another thread may have completed it
    set_status(status, pending->bytes);
  }
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

extern "C" int free_request(void* state) {
  auto* pending = static_cast<Pending*>(state);
  const std::lock_guard lock(requests().mutex);
  if (pending->file != nullptr) --pending->file->requests;
  requests().live.erase(pending);
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
  auto& all = requests();
  const std::lock_guard lock(all.mutex);
  all.waiting[*request] = pending;
  all.live.insert(pending);
  all.count.fetch_add(1, std::memory_order_relaxed);
  ++file.requests;
  return MPI_SUCCESS;
}

bool requests_outstanding() { return requests().count.load(std::memory_order_relaxed) > 0; }

bool concerns_requests(int count, const MPI_Request* given) {
  auto& all = requests();
  const bool ours = requests_outstanding() || all.failed_count.load(std::memory_order_relaxed) > 0;
  if (!ours) return Progress::instance().program_needed();
  if (Progress::instance().program_needed()) return true;
  const std::lock_guard lock(all.mutex);
  for (int i = 0; i < count; ++i)
    if (all.waiting.contains(given[i]) || all.failed.contains(given[i])) return true;
  return false;
}

void advance_requests() {
  Progress::instance().hurry();
  Progress::instance().poll_unserved();
  if (!requests_outstanding()) return;
  auto& all = requests();
  std::vector<MPI_Request> finished;
  {
    const std::lock_guard lock(all.mutex);
    for (auto at = all.waiting.begin(); at != all.waiting.end();) {
      const auto [request, pending] = *at;
      if (!pending->call->done()) {
        ++at;
        continue;
      }
      if (const int error = pending->call->error(); error != 0) {
        all.failed[request] = {error,
                               pending->file != nullptr ? pending->file->handle : MPI_FILE_NULL};
        all.failed_count = static_cast<int>(all.failed.size());
      }
      pending->bytes = pending->call->bytes();
      pending->call.reset();
      finished.push_back(request);
      at = all.waiting.erase(at);
      all.count.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  // Outside the lock: a request the program has freed already is destroyed in here.
  for (const auto request : finished) PMPI_Grequest_complete(request);
}

void await_calls(int count, const MPI_Request* given) {
  struct Awaited {
    std::shared_ptr<Call> call;
    File* file;
  };
  std::vector<Awaited> awaited;
  {
    auto& all = requests();
    const std::lock_guard lock(all.mutex);
    for (int i = 0; i < count; ++i) {
      if (given[i] == MPI_REQUEST_NULL) continue;
      const auto found = all.waiting.find(given[i]);
      if (found == all.waiting.end() || found->second->file == nullptr) return;
      awaited.push_back({found->second->call, found->second->file->engine.get()});
    }
  }
  for (const auto& [call, file] : awaited)
    Progress::instance().wait([&done = *call] { return done.done(); }, file);
}

void release_request(MPI_Request request) {
  auto& all = requests();
  if (!requests_outstanding() && all.failed_count.load(std::memory_order_relaxed) == 0) return;
  {
    const std::lock_guard lock(all.mutex);
    all.failed.erase(request);
    all.failed_count = static_cast<int>(all.failed.size());
    const auto found = all.waiting.find(request);
    if (found == all.waiting.end()) return;
    found->second->call.reset();
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

int Completion::failures(int host_code, MPI_Status* statuses, const int* indices, int count) {
  if (before_.empty()) return host_code;
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const int error = failure(indices != nullptr ? indices[i] : i);
    any = any || error != MPI_SUCCESS;
    if (statuses == MPI_STATUSES_IGNORE) continue;
    if (error != MPI_SUCCESS || host_code == MPI_SUCCESS) statuses[i].MPI_ERROR = error;
  }
  return any ? MPI_ERR_IN_STATUS : host_code;
}

void retire_requests(OpenFile* file) {
  advance_requests();
  auto& all = requests();
  const std::lock_guard lock(all.mutex);
  for (auto* pending : all.live)
    if (pending->file == file) pending->file = nullptr;
  for (auto& [request, failure] : all.failed)
    if (failure.file == file->handle) failure.file = MPI_FILE_NULL;
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
