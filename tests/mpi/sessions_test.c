/* sessions_test.c: programs that begin with MPI_Session_init instead of MPI_Init, or besides it.
 *
 * sessions_test DIR alone|twice|refused|with_world|world_ends_first
 *
 * MPICH opens no file before the first MPI_Init: its error must reach a program that has none.
 * Every way ends with the same calls on a file; each says that choir serves it. With CHOIR_TRACE in
 * the environment, every process has its own trace afterwards. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block = 4096, calls = 4 };

static int failures = 0;
static int files_can_be_opened = 1;

static void expect(int good, const char* what) {
  if (good) return;
  ++failures;
  fprintf(stderr, "sessions_test: %s\n", what);
}

static void expect_served(MPI_File file) {
  MPI_Info info;
  char strategy[64] = "";
  int found = 0;
  expect(MPI_File_get_info(file, &info) == MPI_SUCCESS, "get_info");
  MPI_Info_get(info, "choir_strategy", sizeof strategy - 1, strategy, &found);
  expect(found, "choir serves the file");
  MPI_Info_free(&info);
}

/* Interleaved blocks, blocking and nonblocking, read back by another rank. */
static void use_file(MPI_Comm comm, const char* path) {
  int rank, ranks;
  MPI_File file;
  MPI_Request requests[calls];
  MPI_Status statuses[calls];
  static char written[calls][block], found[block];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int code = MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  expect((code == MPI_SUCCESS) == files_can_be_opened, "open");
  if (code != MPI_SUCCESS) return;
  expect_served(file);
  for (int i = 0; i < calls; ++i) {
    const MPI_Offset at = (MPI_Offset)block * (i * ranks + rank);
    memset(written[i], 1 + i * ranks + rank, block);
    if (i % 2 == 0)
      expect(MPI_File_write_at_all(file, at, written[i], block, MPI_BYTE, MPI_STATUS_IGNORE) ==
                 MPI_SUCCESS,
             "write");
    else
      expect(MPI_File_iwrite_at_all(file, at, written[i], block, MPI_BYTE, &requests[i / 2]) ==
                 MPI_SUCCESS,
             "nonblocking write");
  }
  expect(MPI_Waitall(calls / 2, requests, statuses) == MPI_SUCCESS, "waitall");
  MPI_File_sync(file);
  MPI_Barrier(comm);
  MPI_File_sync(file);
  for (int i = 0; i < calls; ++i) {
    const int writer = (rank + i) % ranks;
    MPI_File_read_at_all(file, (MPI_Offset)block * (i * ranks + writer), found, block, MPI_BYTE,
                         MPI_STATUS_IGNORE);
    for (int b = 0; b < block; ++b)
      if (found[b] != (char)(1 + i * ranks + writer)) {
        expect(0, "the bytes that were written");
        break;
      }
  }
  expect(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

static MPI_Comm comm_of(MPI_Session session, const char* tag) {
  MPI_Group group;
  MPI_Comm comm;
  expect(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS, "pset");
  expect(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
             MPI_SUCCESS,
         "communicator of a session");
  MPI_Group_free(&group);
  return comm;
}

static MPI_Session begin(void) {
  MPI_Session session;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) {
    fprintf(stderr, "sessions_test: no session\n");
    exit(1);
  }
  return session;
}

static void in_session(MPI_Session session, const char* path, const char* tag) {
  MPI_Comm comm = comm_of(session, tag);
  use_file(comm, path);
  MPI_Comm_free(&comm);
}

static void one_session(const char* path, const char* tag) {
  MPI_Session session = begin();
  in_session(session, path, tag);
  expect(MPI_Session_finalize(&session) == MPI_SUCCESS, "end of the session");
}

static void alone(const char* path) { one_session(path, "alone"); }

static void refused(const char* path) {
  files_can_be_opened = 0;
  one_session(path, "refused");
}

static void twice(const char* path) {
  one_session(path, "first");
  one_session(path, "second");
}

static void with_world(const char* path) {
  MPI_Init(NULL, NULL);
  use_file(MPI_COMM_WORLD, path);
  one_session(path, "within");
  use_file(MPI_COMM_WORLD, path);
  MPI_Finalize();
}

static void world_ends_first(const char* path) {
  MPI_Session session = begin();
  MPI_Init(NULL, NULL);
  use_file(MPI_COMM_WORLD, path);
  MPI_Finalize();
  in_session(session, path, "behind");
  MPI_Session_finalize(&session);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(const char*);
  } ways[] = {{"alone", alone},
              {"twice", twice},
              {"refused", refused},
              {"with_world", with_world},
              {"world_ends_first", world_ends_first}};
  char path[4096];
  if (argc != 3) return 2;
  snprintf(path, sizeof path, "%s/sessions-%s.dat", argv[1], argv[2]);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
    if (strcmp(argv[2], ways[i].name) != 0) continue;
    ways[i].run(path);
    unlink(path);
    return failures == 0 ? 0 : 1;
  }
  return 2;
}
