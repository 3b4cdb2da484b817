// lifecycle.cpp: MPI_Init and MPI_Finalize, and those of sessions.
#include "frontdoor/lifecycle.hpp"

#include <mpi.h>

#include "mpi/job.hpp"
#include "mpi/real.hpp"
#include "symbols/both.hpp"

namespace {

int init(int* argc, char*** argv) {
  const int wanted = choir::wanted_thread_level(MPI_THREAD_SINGLE);
  int provided = 0;
  const int code = wanted == MPI_THREAD_SINGLE ? REAL(Init)(argc, argv)
                                               : REAL(Init_thread)(argc, argv, wanted, &provided);
  choir::world_began();
  return code;
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = REAL(Init_thread)(argc, argv, choir::wanted_thread_level(required), provided);
  choir::world_began();
  return code;
}

int finalize() {
  choir::end_of_world();
  return REAL(Finalize)();
}

#ifdef CHOIR_HAS_SESSIONS
int session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  choir::Info raised;
  const bool raises = choir::raise_thread_level(info, raised);
  const int code = REAL(Session_init)(raises ? raised.get() : info, handler, session);
  if (code == MPI_SUCCESS) choir::session_began(*session);
  return code;
}

int session_finalize(MPI_Session* session) {
  choir::end_of_session(*session);
  return REAL(Session_finalize)(session);
}
#endif

}  // namespace

/// By this name libchoir knows that the front door is loaded.
extern "C" __attribute__((visibility("default"))) const int choir_front_door = 1;

BOTH(Init, (int* argc, char*** argv), init(argc, argv))
BOTH(Init_thread, (int* argc, char*** argv, int required, int* provided),
     init_thread(argc, argv, required, provided))
BOTH(Finalize, (void), finalize())
#ifdef CHOIR_HAS_SESSIONS
BOTH(Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session* session),
     session_init(info, handler, session))
BOTH(Session_finalize, (MPI_Session * session), session_finalize(session))
#endif
