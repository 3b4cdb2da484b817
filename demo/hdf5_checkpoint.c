/* hdf5_checkpoint.c: checkpoints of a 3-D simulation through parallel HDF5. Nothing here knows
 * choir.
 *
 * hdf5_checkpoint FILE [STEPS] [SIDE]: every step is a group with four variables (density, energy,
 * velocity, pressure); each rank holds a block of SIDE^3 doubles, the blocks side by side along the
 * fastest dimension, and all ranks write collectively. Everything is read back and checked. Without
 * time stamps, so that two runs give the same bytes. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { VARIABLES = 4 };
static const char* const names[VARIABLES] = {"density", "energy", "velocity", "pressure"};
static int rank, ranks, side;

static hid_t must(hid_t result, const char* what) {
  if (result < 0) {
    fprintf(stderr, "hdf5_checkpoint: rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return result;
}

static size_t cells(void) { return (size_t)side * (size_t)side * (size_t)side; }
static double value(int step, int variable, size_t cell) {
  return step * 1e6 + variable * 1e5 + rank * 1e4 + (double)(cell % 9973);
}

static hid_t own_block(hid_t* memory) {
  const hsize_t n = (hsize_t)side, all[3] = {n, n, n * (hsize_t)ranks}, block[3] = {n, n, n};
  const hsize_t start[3] = {0, 0, n * (hsize_t)rank};
  hid_t space = must(H5Screate_simple(3, all, NULL), "H5Screate_simple");
  must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, block, NULL), "H5Sselect_hyperslab");
  *memory = must(H5Screate_simple(3, block, NULL), "H5Screate_simple");
  return space;
}

static hid_t create_variable(hid_t group, const char* name, hid_t space) {
  hid_t how = must(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  must(H5Pset_obj_track_times(how, 0), "H5Pset_obj_track_times");
  must(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  hid_t set = must(H5Dcreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, how, H5P_DEFAULT),
                   "H5Dcreate2");
  H5Pclose(how);
  return set;
}

static double transfer(hid_t group, int step, int variable, int writing, double* data,
                       long* wrong) {
  hid_t memory, space = own_block(&memory);
  hid_t set = writing ? create_variable(group, names[variable], space)
                      : must(H5Dopen2(group, names[variable], H5P_DEFAULT), "H5Dopen2");
  hid_t how = must(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
  must(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
  for (size_t i = 0; writing && i < cells(); ++i) data[i] = value(step, variable, i);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (writing)
    must(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, how, data), "H5Dwrite");
  else
    must(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, how, data), "H5Dread");
  const double seconds = MPI_Wtime() - begin;
  for (size_t i = 0; !writing && i < cells(); ++i) *wrong += data[i] != value(step, variable, i);
  H5Pclose(how);
  H5Dclose(set);
  H5Sclose(memory);
  H5Sclose(space);
  return seconds;
}

static hid_t open_file(const char* name, int writing) {
  hid_t access = must(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
  must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
  hid_t file = writing ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                       : H5Fopen(name, H5F_ACC_RDONLY, access);
  H5Pclose(access);
  return must(file, "opening the file");
}

static double pass(const char* name, int writing, int steps, double* data, long* wrong) {
  hid_t file = open_file(name, writing);
  double seconds = 0, slowest = 0;
  for (int step = 0; step < steps; ++step) {
    char step_name[32];
    snprintf(step_name, sizeof step_name, "step%03d", step);
    hid_t group = writing ? H5Gcreate2(file, step_name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                          : H5Gopen2(file, step_name, H5P_DEFAULT);
    must(group, "the step's group");
    for (int variable = 0; variable < VARIABLES; ++variable)
      seconds += transfer(group, step, variable, writing, data, wrong);
    H5Gclose(group);
  }
  must(H5Fclose(file), "H5Fclose");
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 2 ? atoi(argv[2]) : 6;
  side = argc > 3 ? atoi(argv[3]) : 96;
  if (argc < 2 || steps < 1 || side < 1 || side > 512) {
    if (rank == 0) fprintf(stderr, "usage: hdf5_checkpoint FILE [STEPS] [SIDE up to 512]\n");
    MPI_Finalize();
    return 2;
  }
  double* data = malloc(cells() * sizeof *data);
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  long wrong = 0, all_wrong = 0;
  const double write_s = pass(argv[1], 1, steps, data, &wrong);
  const double read_s = pass(argv[1], 0, steps, data, &wrong);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("write %.4f s read %.4f s bytes %.0f %s\n", write_s, read_s,
           8.0 * (double)cells() * ranks * VARIABLES * steps,
           all_wrong == 0 ? "verified" : "WRONG");
  free(data);
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
