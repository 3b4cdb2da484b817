/* costs DIRECTORY CALLS: a strided pattern of 64-byte pieces, 1 MiB per rank, written CALLS times at new places. Prints, per
 * rank, the memory that opening and calling added to the process, private and shared, in bytes. For bench/costs. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { piece = 64, pieces = 16384 };

/* One line of /proc/self/status in bytes; 0 if there is no such line. */
static long status_bytes(const char* name) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  long kilobytes = 0;
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, name, strlen(name)) == 0) sscanf(line + strlen(name), ": %ld", &kilobytes);
  if (file) fclose(file);
  return kilobytes * 1024;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  char name[4096];
  snprintf(name, sizeof name, "%s/costs.data", argv[1]);
  char* buffer = malloc((size_t)piece * pieces);
  memset(buffer, rank + 1, (size_t)piece * pieces);
  MPI_Datatype type;
  MPI_Type_vector(pieces, piece, piece * ranks, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  /* Collectives of the program's own, so that the MPI library's buffers exist before the first look. */
  for (int i = 0; i < 100; ++i) MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, buffer, 1, MPI_BYTE, MPI_COMM_WORLD);
  const long private_before = status_bytes("RssAnon"), shared_before = status_bytes("RssShmem");
  MPI_File file;
  int code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int call = 0; code == MPI_SUCCESS && call < atoi(argv[2]); ++call) {
    const MPI_Offset at = (MPI_Offset)call * piece * pieces * ranks;
    code = MPI_File_set_view(file, at + (MPI_Offset)rank * piece, MPI_BYTE, type, "native", MPI_INFO_NULL);
    if (code == MPI_SUCCESS) code = MPI_File_write_all(file, buffer, piece * pieces, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  const long private_after = status_bytes("RssAnon"), shared_after = status_bytes("RssShmem");
  if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_close(&file);
  printf("memory %d %ld %ld\n", rank, private_after - private_before, shared_after - shared_before);
  MPI_Type_free(&type);
  free(buffer);
  MPI_Finalize();
  return 0;
}
