/* spawn_test.c: files of processes that were not started together.
 *
 * spawn_test DIR: the ranks spawn two more, all of them write one file through a merged
 * communicator, and the parents another one by themselves. Whether the spawned ones run under choir
 * is the launcher's business. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1000 };

static void must(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "spawn_test: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Every rank writes its block and reads the next one's. */
static void use_file(MPI_Comm comm, const char* path) {
  int rank, ranks;
  char mine[BYTES], found[BYTES];
  MPI_File file;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  memset(mine, 'a' + rank, BYTES);
  must(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
           MPI_SUCCESS,
       "open");
  must(MPI_File_write_at_all(file, (MPI_Offset)BYTES * rank, mine, BYTES, MPI_BYTE,
                             MPI_STATUS_IGNORE) == MPI_SUCCESS,
       "write_at_all");
  MPI_File_sync(file);
  MPI_Barrier(comm);
  MPI_File_sync(file);
  const int next = (rank + 1) % ranks;
  must(MPI_File_read_at_all(file, (MPI_Offset)BYTES * next, found, BYTES, MPI_BYTE,
                            MPI_STATUS_IGNORE) == MPI_SUCCESS,
       "read_at_all");
  must(found[0] == 'a' + next && found[BYTES - 1] == 'a' + next, "what the next rank wrote");
  must(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

static void together(MPI_Comm other, int high, const char* path) {
  MPI_Comm all;
  must(MPI_Intercomm_merge(other, high, &all) == MPI_SUCCESS, "merge");
  use_file(all, path);
  MPI_Comm_free(&all);
}

int main(int argc, char** argv) {
  char shared[4096], own[4096];
  MPI_Comm parent, children;
  int rank;
  MPI_Init(&argc, &argv);
  must(argc >= 2, "usage: spawn_test DIR");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) { /* the argument is the file */
    together(parent, 1, argv[1]);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  int id = (int)(MPI_Wtime() * 1e3) & 0xffffff;
  MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(shared, sizeof shared, "%s/spawn-%d.shared", argv[1], id);
  snprintf(own, sizeof own, "%s/spawn-%d.own", argv[1], id);
  char* arguments[] = {shared, NULL};
  must(MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                      MPI_ERRCODES_IGNORE) == MPI_SUCCESS,
       "spawn");
  together(children, 0, shared);
  MPI_Comm_disconnect(&children);
  use_file(MPI_COMM_WORLD, own);
  if (rank == 0) {
    remove(shared);
    remove(own);
    puts("spawn_test: done");
  }
  MPI_Finalize();
  return 0;
}
