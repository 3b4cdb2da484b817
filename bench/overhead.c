/* overhead.c: what an MPI-IO call costs, in nanoseconds; built with plain mpicc, run with and
 * without choir's library.
 *
 * overhead collective DIR CALLS: MPI_File_write_at_all of 64 KiB per rank, again and again over the
 * same 4 MiB per rank. overhead individual DIR CALLS: MPI_File_write_at of 1 byte by each rank: a
 * call that only passes through. Rank 0 prints nanoseconds per call of the slowest rank.
 *
 * overhead paired DIR CALLS: the collective loop in short rounds, in turn through choir and past it
 * by the MPI library's own function: the same processes, file and memory, so that what differs is
 * choir's part of the call alone. Prints both medians and the median of the rounds' ratios. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "overhead: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

enum { collective_bytes = 64 << 10, places = 64 };

/* Not inlined: callgrind finds the loops by name. */
__attribute__((noinline)) static double collective_loop(MPI_File file, int rank, int ranks,
                                                        int calls) {
  char* data = malloc(collective_bytes);
  double begin;
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(data, rank + 1, collective_bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    const MPI_Offset at = ((MPI_Offset)(i % places) * ranks + rank) * collective_bytes;
    check(MPI_File_write_at_all(file, at, data, collective_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  const double seconds = MPI_Wtime() - begin;
  free(data);
  return seconds;
}

typedef int (*write_call)(MPI_File, MPI_Offset, const void*, int, MPI_Datatype, MPI_Status*);

/* The function of the MPI library itself: choir's library defines the PMPI names too. */
static write_call host_call(void) {
  Dl_info info;
  void* const known = dlsym(RTLD_DEFAULT, "PMPI_Comm_size");
  void* library = NULL;
  write_call call = NULL;
  if (known != NULL && dladdr(known, &info) != 0)
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library != NULL) *(void**)&call = dlsym(library, "PMPI_File_write_at_all");
  if (call == NULL) {
    fprintf(stderr, "overhead: cannot find the MPI library's own function\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return call;
}

/* Nanoseconds per call of one pass over the places. */
static double timed_pass(write_call call, MPI_File file, int rank, int ranks, const char* data) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < places; ++i)
    check(call(file, ((MPI_Offset)i * ranks + rank) * collective_bytes, data, collective_bytes,
               MPI_BYTE, MPI_STATUS_IGNORE));
  return (MPI_Wtime() - begin) * 1e9 / places;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof(double), ascending);
  return values[count / 2];
}

/* Rounds of two passes, the first of each round by turns. The slowest rank's time of every pass
 * counts. */
static void paired_rounds(MPI_File file, int rank, int ranks, int rounds) {
  char* data = malloc(collective_bytes);
  double* times = malloc(3 * (size_t)rounds * sizeof(double));
  if (data == NULL || times == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  const write_call host = host_call();
  double *through = times, *past = times + rounds, *ratio = times + 2 * (size_t)rounds;
  memset(data, rank + 1, collective_bytes);
  for (int round = 0; round < rounds; ++round)
    for (int turn = 0; turn < 2; ++turn) {
      const int by_choir = (round + turn) % 2;
      MPI_Barrier(MPI_COMM_WORLD);
      (by_choir ? through : past)[round] =
          timed_pass(by_choir ? MPI_File_write_at_all : host, file, rank, ranks, data);
    }
  check(MPI_Allreduce(MPI_IN_PLACE, times, 2 * rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  for (int round = 0; round < rounds; ++round) ratio[round] = through[round] / past[round];
  if (rank == 0)
    printf("%.1f %.1f %.5f\n", median(past, rounds), median(through, rounds),
           median(ratio, rounds));
  free(times);
  free(data);
}

__attribute__((noinline)) static double individual_loop(MPI_File file, int rank, int calls) {
  const char byte = (char)(rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i)
    check(MPI_File_write_at(file, (MPI_Offset)rank * 4096 + i % 4096, &byte, 1, MPI_BYTE,
                            MPI_STATUS_IGNORE));
  return MPI_Wtime() - begin;
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 0;
  char path[4096];
  MPI_File file;
  double seconds = 0, slowest = 0;
  check(MPI_Init(&argc, &argv));
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  const int calls = argc == 4 ? atoi(argv[3]) : 0;
  const int paired = argc == 4 && strcmp(argv[1], "paired") == 0;
  const int collective = argc == 4 && strcmp(argv[1], "collective") == 0;
  if (calls < 1 || (!paired && !collective && strcmp(argv[1], "individual") != 0)) {
    if (rank == 0) fprintf(stderr, "usage: overhead collective|paired|individual DIR CALLS\n");
    MPI_Finalize();
    return 2;
  }
  snprintf(path, sizeof(path), "%s/overhead-%s.dat", argv[2], argv[1]);
  check(MPI_File_open(MPI_COMM_WORLD, path,
                      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file));
  /* The first pass creates the pages. */
  if (paired) {
    collective_loop(file, rank, ranks, places);
    paired_rounds(file, rank, ranks, (calls + places - 1) / places);
  } else if (collective) {
    collective_loop(file, rank, ranks, places);
    seconds = collective_loop(file, rank, ranks, calls);
  } else {
    individual_loop(file, rank, 4096);
    seconds = individual_loop(file, rank, calls);
  }
  check(MPI_File_close(&file));
  check(MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
  if (rank == 0 && !paired) printf("%.1f\n", slowest * 1e9 / calls);
  check(MPI_Finalize());
  return 0;
}
