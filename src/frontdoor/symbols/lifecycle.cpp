// lifecycle.cpp: MPI_Init and MPI_Finalize.
#include "frontdoor/lifecycle.hpp"

#include <mpi.h>

#include "mpi/real.hpp"
#include "symbols/both.hpp"

namespace {

int init(int* argc, char*** argv) {
  const int wanted = choir::wanted_thread_level(MPI_THREAD_SINGLE);
  int provided = 0;
  if (wanted == MPI_THREAD_SINGLE) return REAL(Init)(argc, argv);
  return REAL(Init_thread)(argc, argv, wanted, &provided);
}

int finalize() {
  choir::end_of_program();
  return REAL(Finalize)();
}

}  // namespace

/// By this name libchoir knows that the front door is loaded.
extern "C" __attribute__((visibility("default"))) const int choir_front_door = 1;

BOTH(Init, (int* argc, char*** argv), init(argc, argv))
BOTH(Init_thread, (int* argc, char*** argv, int required, int* provided),
     REAL(Init_thread)(argc, argv, choir::wanted_thread_level(required), provided))
BOTH(Finalize, (void), finalize())
