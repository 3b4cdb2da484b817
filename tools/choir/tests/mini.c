/* mini.c: the smallest program with a collective write and read; checks both. mini FILE */
#include <mpi.h>
#include <stdio.h>

enum { BLOCKS = 64, BLOCK = 1000 };

int main(int argc, char** argv) {
  static int data[BLOCKS * BLOCK], back[BLOCKS * BLOCK];
  int rank, ranks, wrong = 0, all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File file;
  MPI_Datatype type;
  MPI_Type_vector(BLOCKS, BLOCK, BLOCK * ranks, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < BLOCKS * BLOCK; ++i) data[i] = rank * 1000000 + i;
  if (argc != 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                                 MPI_INFO_NULL, &file) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_set_view(file, (MPI_Offset)rank * BLOCK * (MPI_Offset)sizeof(int), MPI_INT, type,
                    "native", MPI_INFO_NULL);
  wrong += MPI_File_write_at_all(file, 0, data, BLOCKS * BLOCK, MPI_INT, MPI_STATUS_IGNORE) !=
           MPI_SUCCESS;
  wrong += MPI_File_read_at_all(file, 0, back, BLOCKS * BLOCK, MPI_INT, MPI_STATUS_IGNORE) !=
           MPI_SUCCESS;
  for (int i = 0; i < BLOCKS * BLOCK; ++i) wrong += data[i] != back[i];
  wrong += MPI_File_sync(file) != MPI_SUCCESS;
  wrong += MPI_File_close(&file) != MPI_SUCCESS;
  MPI_Type_free(&type);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %s\n", ranks, all_wrong == 0 ? "right" : "WRONG");
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
