/* api.c: a program that uses choir's own interface, built against an installed choir. */
#include <choir/choir.h>
#include <choir/mcio.h>
#include <stdio.h>

int main(int argc, char** argv) {
  static int data[1024];
  int rank;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                                 MPI_INFO_NULL, &file) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Offset offset = (MPI_Offset)sizeof data * rank;
  MPI_Datatype type = MPI_INT;
  void* buffer = data;
  int count = 1024;
  const int code =
      MCIO_File_write_at_all(&file, 1, &offset, &buffer, &count, &type, MPI_STATUSES_IGNORE);
  MPI_File_close(&file);
  if (rank == 0)
    printf("choir %s is %s, the call %s\n", choir_version(), choir_active() ? "active" : "absent",
           code == MPI_SUCCESS ? "worked" : "failed");
  MPI_Finalize();
  return code != MPI_SUCCESS;
}
