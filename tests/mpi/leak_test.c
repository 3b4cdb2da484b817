/* leak_test.c: many nonblocking and blocking collectives do not cost memory.
 *
 * leak_test DIR OPERATIONS: nonblocking writes and reads, blocking ones, requests waited for,
 * tested for, freed and completed in arrays, on files that are opened anew every 1000 operations;
 * patterns change, so that kept plans are replaced. Rank 0 prints the resident memory at every
 * power of ten. Fails if it has grown by more than 4 MiB since a tenth of the operations, at most
 * since the 1000th: by then caches and pools are full. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block = 2048, together = 4, reopen = 1000, allowed_kib = 4096 };

static int rank, ranks;

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "leak_test: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The most any rank has. */
static long resident_kib(void) {
  long pages = 0, most = 0;
  FILE* in = fopen("/proc/self/statm", "r");
  if (in == NULL || fscanf(in, "%*s %ld", &pages) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
  fclose(in);
  pages *= sysconf(_SC_PAGESIZE) / 1024;
  check(MPI_Allreduce(&pages, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  return most;
}

static MPI_File open_file(const char* directory) {
  char path[4096];
  MPI_File file;
  snprintf(path, sizeof(path), "%s/leak.dat", directory);
  check(MPI_File_open(MPI_COMM_WORLD, path,
                      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file),
        "MPI_File_open");
  return file;
}

/* `together` operations, ended in one of several ways. */
static void some_operations(MPI_File file, long number) {
  static char data[together][block];
  MPI_Request requests[together];
  MPI_Status statuses[together];
  const int size = 512 + (int)(number / together % 64) * 16; /* 64 patterns */
  for (int i = 0; i < together; ++i) {
    const MPI_Offset at = ((MPI_Offset)i * ranks + rank) * block;
    if (i % 2 == 0)
      check(MPI_File_iwrite_at_all(file, at, data[i], size, MPI_BYTE, &requests[i]),
            "iwrite_at_all");
    else
      check(MPI_File_iread_at_all(file, at, data[i], size, MPI_BYTE, &requests[i]), "iread_at_all");
  }
  int flag = 0;
  switch (number / together % 4) {
    case 0:
      check(MPI_Waitall(together, requests, statuses), "MPI_Waitall");
      break;
    case 1:
      for (int i = together; i-- > 0;) check(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), "MPI_Wait");
      break;
    case 2:
      while (!flag) check(MPI_Testall(together, requests, &flag, statuses), "MPI_Testall");
      break;
    default:
      for (int i = 0; i + 1 < together; ++i)
        check(MPI_Request_free(&requests[i]), "MPI_Request_free");
      check(MPI_Wait(&requests[together - 1], MPI_STATUS_IGNORE),
            "MPI_Wait"); /* the last ends last */
      break;
  }
}

int main(int argc, char** argv) {
  check(MPI_Init(&argc, &argv), "MPI_Init");
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  const long operations = argc == 3 ? atol(argv[2]) : 0;
  if (operations < 1) {
    if (rank == 0) fprintf(stderr, "usage: leak_test DIR OPERATIONS\n");
    MPI_Finalize();
    return 2;
  }
  long settled = 0, now = 0, next_report = 1000;
  const long settled_at = operations / 10 > 1000 ? operations / 10 : 1000;
  MPI_File file = open_file(argv[1]);
  for (long done = 0; done < operations;) {
    some_operations(file, done);
    done += together;
    if (done % reopen == 0) {
      check(MPI_File_close(&file), "MPI_File_close");
      file = open_file(argv[1]);
    }
    if (done == next_report) {
      now = resident_kib();
      if (rank == 0) printf("%8ld operations: %ld KiB resident\n", done, now), fflush(stdout);
      next_report *= 10;
    }
    if (done == settled_at) settled = resident_kib();
  }
  check(MPI_File_close(&file), "MPI_File_close");
  now = resident_kib();
  if (rank == 0) printf("%8ld operations: %ld KiB resident at the end\n", operations, now);
  const int grown = now - settled > allowed_kib;
  if (grown && rank == 0)
    fprintf(stderr, "leak_test: %ld KiB more than after %ld operations\n", now - settled,
            settled_at);
  check(MPI_Finalize(), "MPI_Finalize");
  return grown;
}
