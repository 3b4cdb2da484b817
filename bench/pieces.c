/* pieces.c: one strided collective write of many pieces, for counting instructions; built with
 * plain mpicc.
 *
 * pieces COUNT LENGTH whole|part DIR
 *   whole: every rank writes COUNT pieces of LENGTH bytes, dealt out in turn, through one
 * MPI_Type_vector. part:  the same view of COUNT pieces, but the call writes the first 1000 of
 * them, so that whatever grows with COUNT is the cost of describing the pattern, not of moving its
 * bytes. Two equal calls: the second one meets a known pattern. Strategy and settings come from the
 * environment. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "pieces: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Named, so that a profiler can collect inside them only. */
__attribute__((noinline)) void first_call(MPI_File file, MPI_Offset at, const void* data,
                                          int bytes) {
  check(MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

__attribute__((noinline)) void second_call(MPI_File file, MPI_Offset at, const void* data,
                                           int bytes) {
  check(MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

__attribute__((noinline)) void view_call(MPI_File file, MPI_Offset displacement,
                                         MPI_Datatype type) {
  char native[] = "native";
  check(MPI_File_set_view(file, displacement, MPI_BYTE, type, native, MPI_INFO_NULL));
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 0;
  char path[4096];
  MPI_Datatype type;
  MPI_File file;
  check(MPI_Init(&argc, &argv));
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  const int count = argc == 5 ? atoi(argv[1]) : 0;
  const int length = argc == 5 ? atoi(argv[2]) : 0;
  const int part = argc == 5 && strcmp(argv[3], "part") == 0;
  if (count < 1 || length < 1 || (!part && strcmp(argv[3], "whole") != 0) ||
      (long long)count * length > 0x7fffffff) {
    if (rank == 0) fprintf(stderr, "usage: pieces COUNT LENGTH whole|part DIR (at most 2 GiB)\n");
    MPI_Finalize();
    return 2;
  }
  const int written = part && count > 1000 ? 1000 : count;
  const int bytes = written * length;
  char* data = malloc((size_t)bytes);
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(data, rank + 1, (size_t)bytes);
  snprintf(path, sizeof(path), "%s/pieces-%d.dat", argv[4], count);
  check(MPI_File_open(MPI_COMM_WORLD, path,
                      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file));
  /* A single rank leaves every other piece to nobody: still strided. */
  check(MPI_Type_vector(count, length, length * (ranks > 1 ? ranks : 2), MPI_BYTE, &type));
  check(MPI_Type_commit(&type));
  view_call(file, (MPI_Offset)rank * length, type);
  first_call(file, 0, data, bytes);
  second_call(file, 0, data, bytes);
  check(MPI_File_close(&file));
  check(MPI_Type_free(&type));
  free(data);
  check(MPI_Finalize());
  return 0;
}
