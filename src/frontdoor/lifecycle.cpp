#include "frontdoor/lifecycle.hpp"

#include <mpi.h>

#include <cstdlib>
#include <cstring>

#include "engine/progress.hpp"
#include "frontdoor/recording.hpp"
#include "frontdoor/requests.hpp"

namespace choir {

int wanted_thread_level(int asked) {
  const char* progress = std::getenv("CHOIR_PROGRESS");
  const bool thread = progress != nullptr && std::strcmp(progress, "thread") == 0;
  return thread ? MPI_THREAD_MULTIPLE : asked;
}

void end_of_program() {
  // Bytes the program handed over are written even if it never waited for them.
  int looks = 0;
  while (requests_outstanding() || Progress::instance().busy()) {
    advance_requests();
    Progress::instance().poll();
    idle_moment(looks);
  }
  Progress::instance().stop();
  Witness::finish_traces();
  finish_recording();
  Neighbourhood::release_predefined();
}

}  // namespace choir
