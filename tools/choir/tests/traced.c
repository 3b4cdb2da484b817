/* traced.c: a file that is opened twice, by all ranks, and files of the same name that ranks open
 * for themselves. traced FILE [die]: all end after the first writes, without MPI_Finalize. */
#include <mpi.h>
#include <unistd.h>

enum { CALLS = 3, BLOCK = 100000 };

static char data[BLOCK];

static MPI_File opened(MPI_Comm comm, const char* name) {
  MPI_File file;
  if (MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  return file;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File file = opened(MPI_COMM_WORLD, argv[1]);
  for (int i = 0; i < CALLS; ++i)
    MPI_File_write_at_all(file, (MPI_Offset)BLOCK * (ranks * i + rank), data, BLOCK, MPI_BYTE,
                          MPI_STATUS_IGNORE);
  if (argc > 2) _exit(1);
  MPI_File_close(&file);
  if (rank == 0) { /* so that the processes have opened it a different number of times */
    file = opened(MPI_COMM_SELF, argv[1]);
    MPI_File_close(&file);
  }
  file = opened(MPI_COMM_WORLD, argv[1]);
  for (int i = 0; i < CALLS; ++i)
    MPI_File_read_at_all(file, (MPI_Offset)BLOCK * (ranks * i + rank), data, BLOCK, MPI_BYTE,
                         MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  file = opened(MPI_COMM_SELF, argv[1]);
  MPI_File_write_at_all(file, (MPI_Offset)BLOCK * rank, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
