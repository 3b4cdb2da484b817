/* mpich_shim.c: preloaded under MPICH 4.0 (ch4:ucx) in the lab, and only there. Never installed.
 *
 * The lab has far more ranks than cores, which MPICH's waiting does not expect:
 *  - Its progress loop spins. With CHOIR_LAB_IDLE=yield (default) a rank that found nothing to do
 * for a while gives the core up; CHOIR_LAB_IDLE=spin is stock MPICH.
 *  - MPI_Finalize flushes its endpoints while peers may already sit in the launcher's barrier,
 * where they no longer answer, and hangs. Here a barrier and a few rounds of progress take the
 * flush's place. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IDLE_ROUNDS_BEFORE_YIELD = 50, FINAL_PROGRESS_ROUNDS = 20, FINAL_PROGRESS_PAUSE_US = 500 };

static int yields(void) {
  const char* idle = getenv("CHOIR_LAB_IDLE");
  return idle == NULL || strcmp(idle, "spin") != 0;
}

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*real)(void*);
  static int may_yield;
  static __thread int idle_rounds;
  if (real == NULL) {
    may_yield = yields();
    real = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (real == NULL) abort();
  }
  const unsigned events = real(worker);
  idle_rounds = events != 0 ? 0 : idle_rounds + 1;
  if (may_yield && idle_rounds > IDLE_ROUNDS_BEFORE_YIELD) sched_yield();
  return events;
}

/* "Nothing to wait for": the endpoint dies with the process. */
void* ucp_disconnect_nb(void* endpoint) {
  (void)endpoint;
  return NULL;
}

static int finalize(void) {
  int (*real)(void) = (int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize");
  if (real == NULL) abort();
  PMPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < FINAL_PROGRESS_ROUNDS; ++round) {
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    usleep(FINAL_PROGRESS_PAUSE_US);
  }
  return real();
}

/* Both names: a library preloaded before this one may have MPI_Finalize and end in PMPI_Finalize.
 */
int MPI_Finalize(void) { return finalize(); }
int PMPI_Finalize(void) { return finalize(); }
