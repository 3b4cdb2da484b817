/* mcio_test.c: one call over many files: bytes, statuses, repeated files, empty ranks, and one file
 * that fails. */
#include <choir/choir.h>
#include <choir/mcio.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { files_opened = 4, values = 3000 };

static int rank, ranks, failures;
static int run_number; /* rank 0's process: tests may run side by side in one folder */

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAIL mcio rank %d of %d: %s\n", rank, ranks, what);
  ++failures;
}

static int value_at(int file, int owner, int i) { return file * 1000003 + owner * 10007 + i; }

/* Rank r has every ranks-th value of each file; the last rank has nothing for file 2. */
static int count_for(int file) { return file == 2 && rank == ranks - 1 ? 0 : values; }

static void open_all(MPI_File* files, const char* folder) {
  for (int f = 0; f < files_opened; ++f) {
    char name[600];
    snprintf(name, sizeof name, "%s/mcio-%d-%d", folder, run_number, f);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &files[f]);
    MPI_Datatype strided;
    MPI_Type_vector(1, 1, 1, MPI_INT, &strided);
    MPI_Datatype tile;
    MPI_Type_create_resized(strided, 0, (MPI_Aint)sizeof(int) * ranks, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(files[f], (MPI_Offset)sizeof(int) * rank, MPI_INT, tile, "native",
                      MPI_INFO_NULL);
    MPI_Type_free(&strided);
    MPI_Type_free(&tile);
  }
}

static void write_and_read(MPI_File* files) {
  int* out[files_opened];
  int* in[files_opened];
  void *sources[files_opened], *targets[files_opened];
  int counts[files_opened];
  MPI_Datatype types[files_opened];
  MPI_Offset offsets[files_opened];
  MPI_Status statuses[files_opened];
  for (int f = 0; f < files_opened; ++f) {
    out[f] = malloc(values * sizeof(int));
    in[f] = calloc(values, sizeof(int));
    for (int i = 0; i < values; ++i) out[f][i] = value_at(f, rank, i);
    sources[f] = out[f];
    targets[f] = in[f];
    counts[f] = count_for(f);
    types[f] = MPI_INT;
    offsets[f] = 0;
  }
  expect(MCIO_File_write_all(files, files_opened, sources, counts, types, statuses) == MPI_SUCCESS,
         "write_all");
  for (int f = 0; f < files_opened; ++f) {
    int got = -1;
    MPI_Get_count(&statuses[f], MPI_INT, &got);
    expect(got == counts[f], "a write's status has its count");
  }
  expect(MCIO_File_read_at_all(files, files_opened, offsets, targets, counts, types,
                               MPI_STATUSES_IGNORE) == MPI_SUCCESS,
         "read_at_all");
  for (int f = 0; f < files_opened; ++f)
    expect(memcmp(in[f], out[f], (size_t)counts[f] * sizeof(int)) == 0, "what was written is read");
  for (int f = 0; f < files_opened; ++f) free(out[f]), free(in[f]);
}

/* Six parts of one file in one call, as astro3d writes its variables. */
static void one_file_many_times(MPI_File file) {
  enum { parts = 6, length = 500 };
  MPI_File same[parts];
  int* out = malloc(parts * length * sizeof(int));
  int* in = calloc(parts * length, sizeof(int));
  void *sources[parts], *targets[parts];
  int counts[parts];
  MPI_Datatype types[parts];
  MPI_Offset offsets[parts];
  MPI_Request requests[parts];
  MPI_Status statuses[parts];
  for (int i = 0; i < parts * length; ++i) out[i] = value_at(9, rank, i);
  for (int p = 0; p < parts; ++p) {
    same[p] = file;
    sources[p] = out + p * length;
    targets[p] = in + p * length;
    counts[p] = length;
    types[p] = MPI_INT;
    offsets[p] = 10000 + p * length;
  }
  expect(MCIO_File_write_at_all(same, parts, offsets, sources, counts, types,
                                MPI_STATUSES_IGNORE) == MPI_SUCCESS,
         "one file six times");
  MPI_File_seek(file, 10000, MPI_SEEK_SET);
  expect(MCIO_File_iread_all(same, parts, targets, counts, types, requests) == MPI_SUCCESS,
         "iread_all");
  MPI_Waitall(parts, requests, statuses);
  expect(memcmp(in, out, parts * length * sizeof(int)) == 0, "six parts are read in order");
  free(out);
  free(in);
}

/* A file opened read-only among writable ones: its status tells, the others are written. */
static void one_file_fails(MPI_File good, const char* folder) {
  char name[600];
  snprintf(name, sizeof name, "%s/mcio-%d-read-only", folder, run_number);
  if (rank == 0) close(open(name, O_CREAT | O_RDWR, 0600));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File bad;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &bad);
  MPI_File pair[2] = {good, bad};
  int one = 77 + rank, seen = 0, counts[2] = {1, 1};
  void* sources[2] = {&one, &one};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  MPI_Offset offsets[2] = {0, 0};
  MPI_Status statuses[2];
  const int code = MCIO_File_write_at_all(pair, 2, offsets, sources, counts, types, statuses);
  expect(code != MPI_SUCCESS, "a failing file is reported");
  expect(statuses[0].MPI_ERROR == MPI_SUCCESS, "the good file is fine");
  expect(statuses[1].MPI_ERROR != MPI_SUCCESS, "the bad file's status tells");
  MPI_File_read_at_all(good, 0, &seen, 1, MPI_INT, MPI_STATUS_IGNORE);
  expect(seen == one, "the good file has its bytes");
  MPI_File_close(&bad);
  if (rank == 0) unlink(name);
}

static void other_communicator(MPI_File file, const char* folder) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_File own;
  char name[600];
  snprintf(name, sizeof name, "%s/mcio-%d-half-%d", folder, run_number, rank % 2);
  MPI_File_open(half, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &own);
  MPI_File pair[2] = {file, own};
  int one = 1, counts[2] = {1, 1};
  void* sources[2] = {&one, &one};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  const int code = MCIO_File_write_all(pair, 2, sources, counts, types, MPI_STATUSES_IGNORE);
  expect(ranks == 1 || code != MPI_SUCCESS, "files of different ranks are refused");
  MPI_File_close(&own);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  run_number = (int)getpid();
  MPI_Bcast(&run_number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (argc != 3) {
    if (rank == 0) fprintf(stderr, "usage: mcio_test FOLDER 0|1 (whether choir must be active)\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  expect(choir_active() == atoi(argv[2]), "choir_active tells whether the front door is loaded");
  MPI_File files[files_opened];
  open_all(files, argv[1]);
  write_and_read(files);
  one_file_many_times(files[1]);
  one_file_fails(files[0], argv[1]);
  other_communicator(files[3], argv[1]);
  for (int f = 0; f < files_opened; ++f) MPI_File_close(&files[f]);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}
