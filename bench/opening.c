/* opening.c: what it takes to open a file, read it and close it, in microseconds; built with plain mpicc, run
 * with and without choir's library.
 *
 * opening DIR FILES BYTES BLOCK PASSES: each of FILES files of BYTES is opened to be read, read by collective calls of
 * BLOCK bytes per rank, the ranks side by side, PASSES times from the beginning to the end (0: only the first four
 * calls), and closed. A file is written to first, so that no library is loaded while the first is read. Rank 0 prints a
 * line per file: the slowest rank's time to open it, to read it, to close it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

static void check(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "opening: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fail(const char* what) {
  perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Large requests, as of a program that has written a checkpoint. */
static void write_file(const char* path, long bytes, char* data) {
  enum { most = 4 << 20 };
  const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (fd < 0) fail(path);
  for (long at = 0; at < bytes;) {
    const long length = bytes - at < most ? bytes - at : most;
    const ssize_t moved = pwrite(fd, data + at, (size_t)length, at);
    if (moved <= 0) fail(path);
    at += moved;
  }
  if (close(fd) != 0) fail(path);
}

static void open_one_to_write(const char* directory, char* data) {
  char path[4096];
  MPI_File file;
  snprintf(path, sizeof path, "%s/opening-written", directory);
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file));
  check(MPI_File_write_at_all(file, 4096L * rank, data, 4096, MPI_BYTE, MPI_STATUS_IGNORE));
  check(MPI_File_close(&file));
}

static void read_file(MPI_File file, long bytes, int block, int passes, char* data) {
  const long calls = bytes / ((long)block * ranks);
  const long all = passes > 0 ? calls * passes : (calls < 4 ? calls : 4);
  for (long call = 0; call < all; ++call) {
    const long place = call % calls;
    check(MPI_File_read_at_all(file, (place * ranks + rank) * block, data + place * block, block, MPI_BYTE,
                               MPI_STATUS_IGNORE));
  }
}

/* Since `*since`, of the slowest rank; and the next stage begins together. */
static double stage(double* since) {
  double took = (MPI_Wtime() - *since) * 1e6, slowest = 0;
  check(MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  check(MPI_Barrier(MPI_COMM_WORLD));
  *since = MPI_Wtime();
  return slowest;
}

int main(int argc, char** argv) {
  char path[4096];
  if (argc != 6) return 2;
  const int files = atoi(argv[2]), block = atoi(argv[4]), passes = atoi(argv[5]);
  const long bytes = atol(argv[3]);
  char* const data = malloc((size_t)bytes + 4096);
  if (data == NULL || block <= 0) return 2;
  memset(data, 7, (size_t)bytes + 4096);
  check(MPI_Init(&argc, &argv));
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  if (bytes < (long)block * ranks) MPI_Abort(MPI_COMM_WORLD, 2);
  open_one_to_write(argv[1], data);
  for (int i = 0; i < files; ++i) {
    double since = 0;
    MPI_File file;
    snprintf(path, sizeof path, "%s/opening-%d", argv[1], i);
    if (rank == 0) write_file(path, bytes, data);
    stage(&since);
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    const double opening = stage(&since);
    read_file(file, bytes, block, passes, data);
    const double reading = stage(&since);
    check(MPI_File_close(&file));
    const double closing = stage(&since);
    if (rank == 0) printf("%.1f %.1f %.1f\n", opening, reading, closing);
    if (rank == 0 && unlink(path) != 0) fail(path);
  }
  free(data);
  check(MPI_Finalize());
  return 0;
}
