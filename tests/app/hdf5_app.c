/* hdf5_app.c: a parallel HDF5 program as users write them.
 *
 * hdf5_app FILE: a contiguous and a chunked dataset by hyperslabs, an interleaved one, an
 * attribute; then everything is read back collectively with another decomposition and checked. No
 * time stamps, so two runs give the same bytes. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 48, COLUMNS = 40 };

static int rank, ranks;

static void must(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "hdf5_app: rank %d: %s failed\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value(hsize_t row, hsize_t column) { return 1000.0 * (double)row + (double)column; }

/* Rows [first, first + count) of this rank. */
static void own_rows(hsize_t* first, hsize_t* count) {
  *first = (hsize_t)ROWS * (hsize_t)rank / (hsize_t)ranks;
  *count = (hsize_t)ROWS * (hsize_t)(rank + 1) / (hsize_t)ranks - *first;
}

static hid_t make_dataset(hid_t file, const char* name, int chunked) {
  const hsize_t size[2] = {ROWS, COLUMNS}, chunk[2] = {7, 16};
  hid_t space = H5Screate_simple(2, size, NULL);
  hid_t create = H5Pcreate(H5P_DATASET_CREATE);
  must(H5Pset_obj_track_times(create, 0) >= 0, "H5Pset_obj_track_times");
  if (chunked) must(H5Pset_chunk(create, 2, chunk) >= 0, "H5Pset_chunk");
  hid_t set = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
  must(set >= 0, "H5Dcreate2");
  H5Pclose(create);
  H5Sclose(space);
  return set;
}

static hid_t collective_transfer(void) {
  hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  must(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE) >= 0, "H5Pset_dxpl_mpio");
  return transfer;
}

/* interleaved: row r belongs to rank r % ranks; otherwise a block of rows. */
static void select_rows(hid_t space, int interleaved, hsize_t* rows) {
  hsize_t start[2] = {0, 0}, stride[2] = {1, 1}, count[2] = {0, COLUMNS};
  own_rows(&start[0], &count[0]);
  if (interleaved) {
    start[0] = (hsize_t)rank;
    stride[0] = (hsize_t)ranks;
    count[0] =
        rank < ROWS ? ((hsize_t)ROWS - (hsize_t)rank + (hsize_t)ranks - 1) / (hsize_t)ranks : 0;
  }
  *rows = count[0];
  must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) >= 0,
       "H5Sselect_hyperslab");
}

static void write_dataset(hid_t file, const char* name, int chunked, int interleaved) {
  hid_t set = make_dataset(file, name, chunked), space = H5Dget_space(set);
  hsize_t rows, first, unused;
  select_rows(space, interleaved, &rows);
  own_rows(&first, &unused);
  double* data = malloc(sizeof(double) * (size_t)(rows + 1) * COLUMNS);
  must(data != NULL, "malloc");
  for (hsize_t i = 0; i < rows; ++i)
    for (hsize_t j = 0; j < COLUMNS; ++j)
      data[i * COLUMNS + j] =
          value(interleaved ? (hsize_t)rank + i * (hsize_t)ranks : first + i, j);
  const hsize_t shape[2] = {rows, COLUMNS};
  hid_t memory = H5Screate_simple(2, shape, NULL), transfer = collective_transfer();
  must(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data) >= 0, "H5Dwrite");
  free(data);
  H5Pclose(transfer);
  H5Sclose(memory);
  H5Sclose(space);
  H5Dclose(set);
}

/* Every rank reads all columns that are congruent to its rank: not how they were written. */
static void read_dataset(hid_t file, const char* name) {
  hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
  const hsize_t start[2] = {0, (hsize_t)rank % COLUMNS}, stride[2] = {1, (hsize_t)ranks};
  const hsize_t columns = (COLUMNS - start[1] + (hsize_t)ranks - 1) / (hsize_t)ranks;
  const hsize_t count[2] = {ROWS, columns};
  must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) >= 0,
       "H5Sselect_hyperslab");
  double* data = calloc((size_t)(ROWS * columns), sizeof(double));
  must(data != NULL, "calloc");
  hid_t memory = H5Screate_simple(2, count, NULL), transfer = collective_transfer();
  must(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data) >= 0, "H5Dread");
  for (hsize_t i = 0; i < ROWS; ++i)
    for (hsize_t j = 0; j < columns; ++j)
      must(data[i * columns + j] == value(i, start[1] + j * (hsize_t)ranks), name);
  free(data);
  H5Pclose(transfer);
  H5Sclose(memory);
  H5Sclose(space);
  H5Dclose(set);
}

static hid_t parallel_access(void) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
  return access;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  must(argc == 2, "usage: hdf5_app FILE;");
  hid_t access = parallel_access();
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  must(file >= 0, "H5Fcreate");
  write_dataset(file, "blocks", 0, 0);
  write_dataset(file, "chunked", 1, 0);
  write_dataset(file, "interleaved", 0, 1);
  must(H5Fclose(file) >= 0, "H5Fclose");
  file = H5Fopen(argv[1], H5F_ACC_RDONLY, access);
  must(file >= 0, "H5Fopen");
  read_dataset(file, "blocks");
  read_dataset(file, "chunked");
  read_dataset(file, "interleaved");
  must(H5Fclose(file) >= 0, "H5Fclose");
  H5Pclose(access);
  if (rank == 0) puts("hdf5_app: all values read back");
  MPI_Finalize();
  return 0;
}
