#include "frontdoor/lifecycle.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "engine/known.hpp"
#include "engine/progress.hpp"
#include "engine/room.hpp"
#include "frontdoor/recording.hpp"
#include "frontdoor/requests.hpp"
#include "mpi/job.hpp"

namespace choir {

namespace {

int number_in(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

/// As far as the launcher tells before MPI_Init: Hydra's and Slurm's variables, and imaginary
/// nodes.
bool several_nodes() {
  const int ranks = number_in("PMI_SIZE");
  const int here = number_in("MPI_LOCALNRANKS");
  const int imaginary = number_in("CHOIR_RANKS_PER_NODE");
  return (here > 0 && here < ranks) || (imaginary > 0 && imaginary < ranks) ||
         number_in("SLURM_STEP_NUM_NODES") > 1;
}

/// MPICH lets nobody into its waiting (mpi/host_progress.hpp), so calls across nodes can go on
/// beside the program's own waiting only in a thread; thread-multiple costs it a few nanoseconds a
/// call.
#if defined(OMPI_MAJOR_VERSION)
constexpr bool host_lets_us_in = true;
#else
constexpr bool host_lets_us_in = false;
#endif

}  // namespace

namespace {

/// Until MPI is initialised through us: whatever the program may have asked for.
std::atomic<int> asked_level{MPI_THREAD_MULTIPLE};

}  // namespace

bool opens_from_several_threads() { return asked_level == MPI_THREAD_MULTIPLE; }

int wanted_thread_level(int asked) {
  asked_level = asked;
  const char* set = std::getenv("CHOIR_PROGRESS");
  const std::string_view progress = set != nullptr ? set : "auto";
  const bool raise =
      progress == "thread" || (progress == "auto" && !host_lets_us_in && several_nodes());
  return raise ? MPI_THREAD_MULTIPLE : asked;
}

namespace {

void settle() {
  // Bytes the program handed over are written even if it never waited for them.
  int looks = 0;
  while (requests_outstanding() || Progress::instance().busy()) {
    advance_requests();
    Progress::instance().poll();
    idle_moment(looks);
  }
}

/// Neither the world nor a session is left behind this.
void end_of_mpi() {
  settle();
  Progress::instance().stop();
  save_known();
  finish_recording();
}

}  // namespace

void end_of_world() {
  if (open_sessions() > 0) {
    settle();
  } else {
    end_of_mpi();
    Witness::finish_traces();
  }
  Neighbourhood::release_predefined();
}

#ifdef CHOIR_HAS_SESSIONS
bool raise_thread_level(MPI_Info asked, Info& raised) {
  if (wanted_thread_level(MPI_THREAD_SINGLE) != MPI_THREAD_MULTIPLE) return false;
  MPI_Info info = MPI_INFO_NULL;
  const int code = asked == MPI_INFO_NULL ? PMPI_Info_create(&info) : PMPI_Info_dup(asked, &info);
  if (code != MPI_SUCCESS) return false;
  raised = Info(info);
  return PMPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE") == MPI_SUCCESS;
}

void end_of_session(MPI_Session session) {
  if (!world_is_there() && open_sessions() == 1) {
    end_of_mpi();
    Witness::flush_traces();  // another session may follow; they are finished as the process ends
  }
  session_ends(session);
}
#endif

}  // namespace choir
