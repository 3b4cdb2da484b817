/* device_test.c: device_test DIR LIBRARY|none WHERE: calls whose buffers are in device memory on
 * rank 0.
 *
 * LIBRARY is the stand-in (fake_gpu.c), loaded after MPI_Init, as CUDA's is. WHERE is "device",
 * "managed", or "mixed" for a datatype with a part in host and a part in device memory. To the host
 * MPI the stand-in's memory is as any other. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1000 };

static void must(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "device_test: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Two parts wherever they are, as one type for MPI_BOTTOM. */
static MPI_Datatype type_of(char* first, char* second) {
  const int lengths[2] = {BYTES / 2, BYTES / 2};
  MPI_Aint places[2];
  MPI_Datatype type;
  MPI_Get_address(first, &places[0]);
  MPI_Get_address(second, &places[1]);
  MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

int main(int argc, char** argv) {
  int rank;
  char path[4096], host[BYTES];
  MPI_File file;
  MPI_Status status;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  must(argc == 4, "usage: device_test DIR LIBRARY WHERE");
  snprintf(path, sizeof path, "%s/device.%s.%s", argv[1],
           strrchr(argv[2], '/') ? strrchr(argv[2], '/') + 1 : "none", argv[3]);
  must(MPI_File_open(MPI_COMM_WORLD, path,
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &file) == MPI_SUCCESS,
       "open");
  char* gpu = host;
  if (strcmp(argv[2], "none") != 0) {
    void* library = dlopen(argv[2], RTLD_NOW);
    must(library != NULL, argv[2]);
    gpu = dlsym(library, strcmp(argv[3], "managed") == 0 ? "fake_gpu_managed" : "fake_gpu_device");
    must(gpu != NULL, "dlsym");
  }
  char* first = strcmp(argv[3], "mixed") == 0 ? host : rank == 0 ? gpu : host;
  char* second = (rank == 0 ? gpu : host) + BYTES / 2;
  MPI_Datatype type = type_of(first, second);
  const MPI_Offset at = (MPI_Offset)BYTES * rank;
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
    memset(first, 'a' + rank + nonblocking, BYTES / 2);
    memset(second, 'A' + rank + nonblocking, BYTES / 2);
    if (nonblocking) {
      must(MPI_File_iwrite_at_all(file, at, MPI_BOTTOM, 1, type, &request) == MPI_SUCCESS,
           "iwrite_at_all");
      must(MPI_Wait(&request, &status) == MPI_SUCCESS, "wait");
    } else {
      must(MPI_File_write_at_all(file, at, MPI_BOTTOM, 1, type, &status) == MPI_SUCCESS,
           "write_at_all");
    }
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    must(count == BYTES, "the count");
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(first, 0, BYTES / 2);
    memset(second, 0, BYTES / 2);
    must(MPI_File_read_at_all(file, at, MPI_BOTTOM, 1, type, &status) == MPI_SUCCESS,
         "read_at_all");
    must(first[1] == 'a' + rank + nonblocking && second[BYTES / 2 - 1] == 'A' + rank + nonblocking,
         "what was read");
  }
  MPI_Type_free(&type);
  must(MPI_File_close(&file) == MPI_SUCCESS, "close");
  if (rank == 0) puts("device_test: good");
  MPI_Finalize();
  return 0;
}
