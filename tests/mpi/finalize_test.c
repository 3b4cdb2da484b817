/* finalize_test.c: a program that ends with file requests outstanding: the bytes are in the file
 * all the same.
 *
 * finalize_test DIR free|leave|split: requests given away by MPI_Request_free, never completed, or
 * a split collective never ended. Rank 0 looks at the file after MPI_Finalize, with nothing but
 * POSIX. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block = 4096, writes = 3 };

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "finalize_test: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The byte every place of the file must hold. */
static char expected_at(long offset, int ranks) {
  return (char)(1 + offset / block % ranks + 10 * (offset / block / ranks));
}

static int wrong_bytes(const char* path, int ranks, int operations) {
  FILE* in = fopen(path, "rb");
  int wrong = 0;
  if (in == NULL) return 1;
  for (long at = 0; at < (long)block * ranks * operations; ++at)
    wrong += fgetc(in) != (unsigned char)expected_at(at, ranks);
  wrong += fgetc(in) != EOF;
  fclose(in);
  return wrong;
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 0;
  char path[4096];
  static char data[writes][block];
  MPI_File file;
  MPI_Request request;
  if (argc != 3) return 2;
  check(MPI_Init(&argc, &argv), "MPI_Init");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  snprintf(path, sizeof(path), "%s/finalize-%s.dat", argv[1], argv[2]);
  const int split = strcmp(argv[2], "split") == 0;
  const int operations = split ? 1 : writes;
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        "open");
  check(MPI_File_set_size(file, 0), "set_size");
  for (int i = 0; i < operations; ++i) {
    const MPI_Offset at = ((MPI_Offset)i * ranks + rank) * block;
    memset(data[i], expected_at(at, ranks), block);
    if (split) {
      check(MPI_File_write_at_all_begin(file, at, data[i], block, MPI_BYTE), "begin");
      continue;
    }
    check(MPI_File_iwrite_at_all(file, at, data[i], block, MPI_BYTE, &request), "iwrite");
    if (strcmp(argv[2], "free") == 0) check(MPI_Request_free(&request), "MPI_Request_free");
  }
  MPI_Finalize();
  if (rank != 0) return 0;
  const int wrong = wrong_bytes(path, ranks, operations);
  unlink(path);
  if (wrong > 0) fprintf(stderr, "finalize_test: %d bytes are wrong after MPI_Finalize\n", wrong);
  return wrong > 0 ? 1 : 0;
}
