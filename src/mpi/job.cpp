#include "mpi/job.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "mpi/keyval.hpp"

namespace choir {
namespace {

#ifdef CHOIR_HAS_SESSIONS
using Session = MPI_Session;

MPI_Group group_of(Session session) {
  MPI_Group group = MPI_GROUP_EMPTY;
  if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS)
    return MPI_GROUP_EMPTY;
  return group;
}

int thread_level_of(Session session) {
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Session_get_info(session, &info) != MPI_SUCCESS) return MPI_THREAD_SINGLE;
  char value[MPI_MAX_INFO_VAL + 1] = {};
  int found = 0;
  PMPI_Info_get(info, "thread_level", MPI_MAX_INFO_VAL, value, &found);
  PMPI_Info_free(&info);
  return found != 0 && std::strcmp(value, "MPI_THREAD_MULTIPLE") == 0 ? MPI_THREAD_MULTIPLE
                                                                      : MPI_THREAD_SINGLE;
}
#else
struct Session {};  // of which there are none

MPI_Group group_of(Session) { return MPI_GROUP_EMPTY; }
int thread_level_of(Session) { return MPI_THREAD_SINGLE; }
#endif

struct Beginnings {
  std::mutex mutex;
  std::vector<Session> sessions;  ///< open ones
  bool any = false;               ///< there has been a session
  bool level_known = false;
  bool threads = false;
};

Beginnings& beginnings() {
  static auto* const all = new Beginnings;  // programs call MPI at exit
  return *all;
}

bool level_allows_threads(const Beginnings& all) {
  int level = MPI_THREAD_SINGLE;
  if (world_is_there())
    return PMPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
  return !all.sessions.empty() && thread_level_of(all.sessions.front()) == MPI_THREAD_MULTIPLE;
}

/// One number of the job's group.
int number_of_job(int (*ask)(MPI_Group, int*), int otherwise) {
  MPI_Group group = job_group();
  int number = otherwise;
  if (group == MPI_GROUP_EMPTY) return otherwise;
  if (ask(group, &number) != MPI_SUCCESS || number < 0) number = otherwise;
  PMPI_Group_free(&group);
  return number;
}

}  // namespace

bool world_is_there() {
  int begun = 0, over = 0;
  PMPI_Initialized(&begun);
  PMPI_Finalized(&over);
  return begun != 0 && over == 0;
}

int open_sessions() {
  const std::lock_guard lock(beginnings().mutex);
  return static_cast<int>(beginnings().sessions.size());
}

bool mpi_is_over() {
  int over = 0;
  PMPI_Finalized(&over);
  const std::lock_guard lock(beginnings().mutex);
  const auto& all = beginnings();
  return all.sessions.empty() && (over != 0 || (all.any && !world_is_there()));
}

MPI_Group job_group() {
  MPI_Group group = MPI_GROUP_EMPTY;
  if (world_is_there())
    return PMPI_Comm_group(MPI_COMM_WORLD, &group) == MPI_SUCCESS ? group : MPI_GROUP_EMPTY;
  const std::lock_guard lock(beginnings().mutex);
  const auto& sessions = beginnings().sessions;
  return sessions.empty() ? MPI_GROUP_EMPTY : group_of(sessions.front());
}

int job_rank() { return number_of_job(PMPI_Group_rank, 0); }
int job_size() { return number_of_job(PMPI_Group_size, 1); }

bool job_allows_threads() {
  const std::lock_guard lock(beginnings().mutex);
  auto& all = beginnings();
  if (!all.level_known) {
    all.threads = level_allows_threads(all);
    all.level_known = true;
  }
  return all.threads;
}

void world_began() {
  const std::lock_guard lock(beginnings().mutex);
  beginnings().level_known = false;
}

#ifdef CHOIR_HAS_SESSIONS
void session_began(MPI_Session session) {
  const std::lock_guard lock(beginnings().mutex);
  beginnings().sessions.push_back(session);
  beginnings().any = true;
  beginnings().level_known = false;
}

void session_ends(MPI_Session session) {
  const std::lock_guard lock(beginnings().mutex);
  std::erase(beginnings().sessions, session);
  beginnings().level_known = false;
  if (beginnings().sessions.empty() && !world_is_there()) ++mpi_ends;
}
#endif

}  // namespace choir
