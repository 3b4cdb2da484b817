/* pnetcdf_app.c: PnetCDF: a fixed and a record variable, blocking and nonblocking-aggregated, read
 * back. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECORDS = 5, Y = 12, X = 30 };

static int rank, ranks;

static void must(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "pnetcdf_app: rank %d: %s: %s\n", rank, what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int value(MPI_Offset record, MPI_Offset y, MPI_Offset x) {
  return (int)(record * 10000 + y * 100 + x);
}

/* This rank's part of the x axis. */
static void own_columns(MPI_Offset* first, MPI_Offset* count) {
  *first = (MPI_Offset)X * rank / ranks;
  *count = (MPI_Offset)X * (rank + 1) / ranks - *first;
}

static void fill(int* data, MPI_Offset record, MPI_Offset first, MPI_Offset count) {
  for (MPI_Offset y = 0; y < Y; ++y)
    for (MPI_Offset x = 0; x < count; ++x) data[y * count + x] = value(record, y, first + x);
}

static void write_file(const char* path) {
  int nc, dims[3], series, grid;
  MPI_Offset first, count;
  static int data[RECORDS][Y * X];
  must(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &nc),
       "create");
  must(ncmpi_def_dim(nc, "time", NC_UNLIMITED, &dims[0]), "def_dim");
  must(ncmpi_def_dim(nc, "y", Y, &dims[1]), "def_dim");
  must(ncmpi_def_dim(nc, "x", X, &dims[2]), "def_dim");
  must(ncmpi_def_var(nc, "series", NC_INT, 3, dims, &series), "def_var");
  must(ncmpi_def_var(nc, "grid", NC_INT, 2, dims + 1, &grid), "def_var");
  must(ncmpi_enddef(nc), "enddef");
  own_columns(&first, &count);
  const MPI_Offset start[2] = {0, first}, size[2] = {Y, count};
  fill(data[0], 7, first, count);
  must(ncmpi_put_vara_int_all(nc, grid, start, size, data[0]), "put_vara_int_all");
  int requests[RECORDS], statuses[RECORDS];
  for (int r = 0; r < RECORDS; ++r) {
    const MPI_Offset from[3] = {r, 0, first}, part[3] = {1, Y, count};
    fill(data[r], r, first, count);
    must(ncmpi_iput_vara_int(nc, series, from, part, data[r], &requests[r]), "iput_vara_int");
  }
  must(ncmpi_wait_all(nc, RECORDS, requests, statuses), "wait_all");
  must(ncmpi_close(nc), "close");
}

static void expect(int found, int wanted) {
  if (found == wanted) return;
  fprintf(stderr, "pnetcdf_app: rank %d read %d instead of %d\n", rank, found, wanted);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void read_file(const char* path) {
  int nc, series, grid;
  static int all[RECORDS * Y * X];
  must(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &nc), "open");
  must(ncmpi_inq_varid(nc, "series", &series), "inq_varid");
  must(ncmpi_inq_varid(nc, "grid", &grid), "inq_varid");
  must(ncmpi_get_var_int_all(nc, series, all), "get_var_int_all"); /* everybody reads everything */
  for (int i = 0; i < RECORDS * Y * X; ++i) expect(all[i], value(i / (Y * X), i / X % Y, i % X));
  const MPI_Offset start[2] = {rank % 2, 0}, count[2] = {Y / 2, X / 3}, stride[2] = {2, 3};
  must(ncmpi_get_vars_int_all(nc, grid, start, count, stride, all), "get_vars_int_all");
  for (int i = 0; i < (Y / 2) * (X / 3); ++i)
    expect(all[i], value(7, rank % 2 + 2 * (i / (X / 3)), 3 * (i % (X / 3))));
  must(ncmpi_close(nc), "close");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  write_file(argv[1]);
  read_file(argv[1]);
  if (rank == 0) puts("pnetcdf_app: all values read back");
  MPI_Finalize();
  return 0;
}
