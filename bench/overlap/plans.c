/* plans.c: the same pattern of many pieces again and again; built with plain mpicc, run with and
 * without choir's library, whose trace tells what each call spent on agreeing and planning.
 *
 * plans DIR regular|irregular PIECES ROUNDS: every round has a communicator of its own, so that
 * nothing is known when it begins, and writes PIECES pieces of 8 bytes of all ranks together: file
 * A first, file A again, file A further on, then file B of the same shape, with types built anew.
 * Rank 0 prints the seconds of building the view of A and B, per round. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { piece = 8 };

static int rank, ranks;

static void check(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "plans: %s: %s\n", what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* This rank's pieces: every `ranks`-th place of a row of places; irregular ones stand in places of
 * changing width. */
static MPI_Datatype file_type(int mine, int irregular) {
  MPI_Datatype type, whole;
  MPI_Aint* places = malloc((size_t)mine * sizeof(MPI_Aint));
  MPI_Aint at = 0;
  unsigned state = 12345; /* the same on all ranks: they share the places */
  if (places == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < mine; ++i)
    for (int r = 0; r < ranks; ++r) {
      if (r == rank) places[i] = at;
      state = state * 1664525u + 1013904223u;
      at += irregular ? piece * (1 + (int)(state >> 30)) : 2 * piece;
    }
  if (irregular)
    check(MPI_Type_create_hindexed_block(mine, piece, places, MPI_BYTE, &type), "hindexed_block");
  else
    check(MPI_Type_vector(mine, piece, 2 * piece * ranks, MPI_BYTE, &type), "vector");
  check(MPI_Type_create_resized(type, 0, (at + 4095) / 4096 * 4096, &whole), "resized");
  check(MPI_Type_commit(&whole), "commit");
  check(MPI_Type_free(&type), "free");
  free(places);
  return whole;
}

/* Seconds of the slowest rank to set the view. */
static double set_view(MPI_File file, MPI_Comm comm, int mine, int irregular) {
  MPI_Datatype type = file_type(mine, irregular);
  double seconds, slowest = 0;
  const MPI_Offset first = irregular ? 0 : (MPI_Offset)2 * piece * rank;
  check(MPI_Barrier(comm), "barrier");
  const double begin = MPI_Wtime();
  check(MPI_File_set_view(file, first, MPI_BYTE, type, "native", MPI_INFO_NULL), "set_view");
  seconds = MPI_Wtime() - begin;
  check(MPI_Type_free(&type), "free");
  check(MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, comm), "reduce");
  return slowest;
}

static void write_once(MPI_File file, MPI_Comm comm, MPI_Offset at, const char* data, int bytes) {
  check(MPI_Barrier(comm), "barrier");
  check(MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all");
}

static MPI_File open_file(const char* directory, const char* name, MPI_Comm comm) {
  char path[4096];
  MPI_File file;
  snprintf(path, sizeof(path), "%s/plans-%s.dat", directory, name);
  check(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file),
        "open");
  return file;
}

int main(int argc, char** argv) {
  check(MPI_Init(&argc, &argv), "MPI_Init");
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "size");
  const int irregular = argc == 5 && strcmp(argv[2], "irregular") == 0;
  const int mine = argc == 5 ? atoi(argv[3]) / ranks : 0;
  const int rounds = argc == 5 ? atoi(argv[4]) : 0;
  if (mine < 1 || mine > (1 << 27) || rounds < 1 ||
      (!irregular && strcmp(argv[2], "regular") != 0)) {
    if (rank == 0) fprintf(stderr, "usage: plans DIR regular|irregular PIECES ROUNDS\n");
    MPI_Finalize();
    return 2;
  }
  const int bytes = mine * piece;
  char* data = malloc((size_t)bytes);
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(data, rank + 1, (size_t)bytes);
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm comm;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "dup");
    MPI_File file = open_file(argv[1], "A", comm);
    const double first = set_view(file, comm, mine, irregular);
    write_once(file, comm, 0, data, bytes);
    write_once(file, comm, 0, data, bytes);
    write_once(file, comm, bytes, data, bytes);
    check(MPI_File_close(&file), "close");
    file = open_file(argv[1], "B", comm);
    const double second = set_view(file, comm, mine, irregular);
    write_once(file, comm, 0, data, bytes);
    check(MPI_File_close(&file), "close");
    check(MPI_Comm_free(&comm), "free");
    if (rank == 0) printf("%.9f %.9f\n", first, second);
  }
  free(data);
  check(MPI_Finalize(), "MPI_Finalize");
  return 0;
}
