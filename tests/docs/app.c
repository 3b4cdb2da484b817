/* app.c: the reader's own program in the documents (./app). Whatever its arguments are, it appends a
 * few interleaved checkpoints to app.data and reads them back. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 5, PIECES = 64, PIECE = 512 };

int main(int argc, char** argv) {
  static char data[PIECES * PIECE], back[PIECES * PIECE];
  int rank, ranks, wrong = 0;
  MPI_File file;
  MPI_Datatype pieces;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Type_vector(PIECES, PIECE, PIECE * ranks, MPI_BYTE, &pieces);
  MPI_Type_commit(&pieces);
  if (MPI_File_open(MPI_COMM_WORLD, "app.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  for (int step = 0; step < STEPS; ++step) {
    MPI_Offset begin = (MPI_Offset)PIECE * (PIECES * ranks * step + rank);
    memset(data, 'a' + (rank + step) % 26, sizeof data);
    MPI_File_set_view(file, begin, MPI_BYTE, pieces, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, 0, back, sizeof back, MPI_BYTE, MPI_STATUS_IGNORE);
    wrong |= memcmp(data, back, sizeof data) != 0;
  }
  MPI_File_close(&file);
  MPI_Type_free(&pieces);
  if (wrong) fprintf(stderr, "app: rank %d read other bytes than it wrote\n", rank);
  MPI_Finalize();
  return wrong;
}
