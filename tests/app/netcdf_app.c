/* netcdf_app.c: netCDF-4 in parallel (over HDF5): collective puts and gets of two variables. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { Y = 24, X = 36 };

static int rank, ranks;

static void must(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "netcdf_app: rank %d: %s: %s\n", rank, what, nc_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static float value_at(size_t y, size_t x) { return (float)(y * 100 + x); }

static void write_file(const char* path) {
  int nc, dims[2], rows, columns;
  static float data[Y * X];
  must(nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &nc),
       "nc_create_par");
  must(nc_def_dim(nc, "y", Y, &dims[0]), "nc_def_dim");
  must(nc_def_dim(nc, "x", X, &dims[1]), "nc_def_dim");
  must(nc_def_var(nc, "rows", NC_FLOAT, 2, dims, &rows), "nc_def_var");
  must(nc_def_var(nc, "columns", NC_FLOAT, 2, dims, &columns), "nc_def_var");
  must(nc_enddef(nc), "nc_enddef");
  must(nc_var_par_access(nc, rows, NC_COLLECTIVE), "nc_var_par_access");
  must(nc_var_par_access(nc, columns, NC_COLLECTIVE), "nc_var_par_access");
  const size_t r = (size_t)rank, n = (size_t)ranks;
  const size_t y0 = Y * r / n, yn = Y * (r + 1) / n - y0, x0 = X * r / n, xn = X * (r + 1) / n - x0;
  for (size_t i = 0; i < yn * X; ++i) data[i] = value_at(y0 + i / X, i % X);
  const size_t row_start[2] = {y0, 0}, row_count[2] = {yn, X};
  must(nc_put_vara_float(nc, rows, row_start, row_count, data), "nc_put_vara_float");
  for (size_t i = 0; i < Y * xn; ++i) data[i] = value_at(i / xn, x0 + i % xn);
  const size_t column_start[2] = {0, x0}, column_count[2] = {Y, xn};
  must(nc_put_vara_float(nc, columns, column_start, column_count, data), "nc_put_vara_float");
  must(nc_close(nc), "nc_close");
}

static void check_variable(int nc, const char* name) {
  int variable;
  static float data[Y * X];
  must(nc_inq_varid(nc, name, &variable), "nc_inq_varid");
  must(nc_var_par_access(nc, variable, NC_COLLECTIVE), "nc_var_par_access");
  must(nc_get_var_float(nc, variable, data), "nc_get_var_float");
  for (int i = 0; i < Y * X; ++i) {
    if (data[i] == value_at((size_t)i / X, (size_t)i % X)) continue;
    fprintf(stderr, "netcdf_app: rank %d: %s[%d] is %g\n", rank, name, i, (double)data[i]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  int nc;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  write_file(argv[1]);
  must(nc_open_par(argv[1], NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &nc), "nc_open_par");
  check_variable(nc, "rows");
  check_variable(nc, "columns");
  must(nc_close(nc), "nc_close");
  if (rank == 0) puts("netcdf_app: all values read back");
  MPI_Finalize();
  return 0;
}
