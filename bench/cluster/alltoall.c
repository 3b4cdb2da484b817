/* alltoall SECONDS BYTES: what NAS FT does to a network. Rounds of a little arithmetic and an all-to-all of BYTES per pair
 * of ranks, until the time is over; prints how many rounds there were. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double transform(double* values, int count) {
  for (int i = 1; i < count; ++i) values[i] = 0.5 * (values[i] + values[i - 1]) + 1e-9;
  return values[count - 1];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double seconds = argc > 1 ? atof(argv[1]) : 0;
  const int bytes = argc > 2 ? atoi(argv[2]) : 0;
  if (seconds <= 0 || bytes < 8) {
    if (rank == 0) fprintf(stderr, "usage: alltoall SECONDS BYTES (at least 8)\n");
    MPI_Finalize();
    return 2;
  }
  const int count = bytes / 8;
  double* out = calloc((size_t)count * (size_t)ranks, sizeof *out);
  double* in = calloc((size_t)count * (size_t)ranks, sizeof *in);
  if (!out || !in) MPI_Abort(MPI_COMM_WORLD, 1);
  const double start = MPI_Wtime();
  long rounds = 0;
  double last = 0;
  for (int go_on = 1; go_on;) {
    last += transform(out, count);
    MPI_Alltoall(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, MPI_COMM_WORLD);
    ++rounds;
    go_on = MPI_Wtime() - start < seconds;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%ld rounds, last value %g\n", rounds, last);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
