/* tile.c: the output of a 2-D simulation, as many programs write it. Plain MPI; nothing here knows
 * choir.
 *
 * tile FILE [STEPS] [WIDTH]: every rank owns a square tile of WIDTH x WIDTH doubles (with one ghost
 * cell around it) of a global grid. Each step appends the whole grid to FILE in row-major order by
 * one MPI_File_write_all; afterwards all steps are read back by MPI_File_read_all and checked.
 * Prints the seconds of both on rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;
static int grid[2], place[2]; /* tiles of the grid, and ours, in rows and columns */
static int width;

static void must(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "tile: rank %d: %s: %s\n", rank, what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Rows of the global grid are shared by neighbouring tiles, which is what makes the file
 * interesting. */
static void arrange(void) {
  int sides[2] = {0, 0};
  MPI_Dims_create(ranks, 2, sides);
  grid[0] = sides[1];
  grid[1] = sides[0];
  place[0] = rank / grid[1];
  place[1] = rank % grid[1];
}

static double value(int step, long row, long column) {
  return step * 1e9 + (double)row * grid[1] * width + (double)column;
}

static void compute(double* tile, int step) {
  for (long row = 0; row < width; ++row)
    for (long column = 0; column < width; ++column)
      tile[(row + 1) * (width + 2) + column + 1] =
          value(step, place[0] * (long)width + row, place[1] * (long)width + column);
}

static long wrong_cells(const double* tile, int step) {
  long wrong = 0;
  for (long row = 0; row < width; ++row)
    for (long column = 0; column < width; ++column)
      wrong += tile[(row + 1) * (width + 2) + column + 1] !=
               value(step, place[0] * (long)width + row, place[1] * (long)width + column);
  return wrong;
}

static MPI_Datatype part_of(int rows, int columns, int first_row, int first_column) {
  const int all[2] = {rows, columns}, part[2] = {width, width},
            start[2] = {first_row, first_column};
  MPI_Datatype type;
  MPI_Type_create_subarray(2, all, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Seconds of the slowest rank inside the file calls of one pass. */
static double pass(const char* name, int writing, int steps, double* tile, long* wrong) {
  MPI_Datatype in_file =
      part_of(grid[0] * width, grid[1] * width, place[0] * width, place[1] * width);
  MPI_Datatype in_memory = part_of(width + 2, width + 2, 1, 1);
  MPI_File file;
  double seconds = 0, slowest = 0;
  must(MPI_File_open(MPI_COMM_WORLD, name,
                     writing ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL,
                     &file),
       "open");
  must(MPI_File_set_view(file, 0, MPI_DOUBLE, in_file, "native", MPI_INFO_NULL), "set_view");
  for (int step = 0; step < steps; ++step) {
    if (writing) compute(tile, step);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    must(writing ? MPI_File_write_all(file, tile, 1, in_memory, MPI_STATUS_IGNORE)
                 : MPI_File_read_all(file, tile, 1, in_memory, MPI_STATUS_IGNORE),
         writing ? "write_all" : "read_all");
    seconds += MPI_Wtime() - begin;
    if (!writing) *wrong += wrong_cells(tile, step);
  }
  must(MPI_File_close(&file), "close");
  MPI_Type_free(&in_file);
  MPI_Type_free(&in_memory);
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 2 ? atoi(argv[2]) : 16;
  width = argc > 3 ? atoi(argv[3]) : 1024;
  if (argc < 2 || steps < 1 || width < 1 || width > 16384) {
    if (rank == 0) fprintf(stderr, "usage: tile FILE [STEPS] [WIDTH up to 16384]\n");
    MPI_Finalize();
    return 2;
  }
  arrange();
  double* tile = calloc((size_t)(width + 2) * (size_t)(width + 2), sizeof *tile);
  if (tile == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  long wrong = 0, all_wrong = 0;
  const double write_s = pass(argv[1], 1, steps, tile, &wrong);
  const double read_s = pass(argv[1], 0, steps, tile, &wrong);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("write %.4f s read %.4f s bytes %.0f %s\n", write_s, read_s,
           8.0 * width * width * ranks * steps, all_wrong == 0 ? "verified" : "WRONG");
  }
  free(tile);
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
