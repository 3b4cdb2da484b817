// lifecycle.cpp: MPI_Init and MPI_Finalize.
#include "frontdoor/lifecycle.hpp"

#include <mpi.h>

#include "frontdoor/company.hpp"
#include "mpi/real.hpp"
#include "symbols/both.hpp"

namespace {

int init_thread(int* argc, char*** argv, int required, int* provided) {
  choir::note_world();
  return REAL(Init_thread)(argc, argv, choir::wanted_thread_level(required), provided);
}

int init(int* argc, char*** argv) {
  choir::note_world();
  const int wanted = choir::wanted_thread_level(MPI_THREAD_SINGLE);
  int provided = 0;
  if (wanted == MPI_THREAD_SINGLE) return REAL(Init)(argc, argv);
  return REAL(Init_thread)(argc, argv, wanted, &provided);
}

int finalize() {
  choir::end_of_program();
  return REAL(Finalize)();
}

#if MPI_VERSION >= 4
int session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  choir::note_session();
  return REAL(Session_init)(info, handler, session);
}
#endif

}  // namespace

/// By this name libchoir knows that the front door is loaded.
extern "C" __attribute__((visibility("default"))) const int choir_front_door = 1;

BOTH(Init, (int* argc, char*** argv), init(argc, argv))
BOTH(Init_thread, (int* argc, char*** argv, int required, int* provided),
     init_thread(argc, argv, required, provided))
BOTH(Finalize, (void), finalize())
#if MPI_VERSION >= 4
BOTH(Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session* session),
     session_init(info, handler, session))
#endif
