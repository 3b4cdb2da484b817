/* overlap.c: how much of collective I/O disappears behind computing; built with plain mpicc, run
 * with and without choir's library.
 *
 * overlap DIR BYTES_PER_RANK REPETITIONS FILES: prints one line of JSON.
 *
 * The computing is fast Fourier transforms in the cache, without any MPI call. It is sized once so
 * that it takes as long as the blocking write, on all ranks at the same time. blocking,
 * nonblocking: write_all; iwrite_all + MPI_Wait            (the thesis's Table 4.1) overlap:
 * iwrite_all + computing + MPI_Wait           (Table 4.2) application:           FILES files, each
 * computed and then written, blocking; and each written while the next is computed (the texture
 * files of the image analysis in the thesis). The time of I/O the program sees is what it takes
 * longer than its computing alone. The ranks' rows of 64 KiB interleave in the file. The file has
 * its size before anything is timed. */
#include <complex.h>
#include <dirent.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { row = 64 << 10, points = 2048 };

static int rank, ranks;

static void check(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "overlap: %s: %s\n", what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The slowest rank's. */
static double slowest(double seconds) {
  double most = 0;
  check(MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  return most;
}

/* ---- computing ---- */

static double complex data[points], roots[points / 2];

static void prepare_transform(void) {
  for (int i = 0; i < points / 2; ++i) roots[i] = cexp(-2 * acos(-1.0) * I * i / points);
  for (int i = 0; i < points; ++i) data[i] = sin(i + rank);
}

/* One transform in place (the order of the points does not matter here), scaled so that values stay
 * small. */
static void transform(void) {
  for (int half = points / 2; half > 0; half /= 2)
    for (int first = 0; first < points; first += 2 * half)
      for (int i = 0; i < half; ++i) {
        const double complex a = data[first + i], b = data[first + i + half];
        data[first + i] = 0.5 * (a + b);
        data[first + i + half] = (a - b) * roots[i * (points / 2 / half)];
      }
}

static double compute(long transforms) {
  const double begin = now();
  for (long i = 0; i < transforms; ++i) transform();
  return now() - begin;
}

/* Transforms that take `seconds` on all ranks at once: by the fastest of some tries, since a busy
 * moment would make the computing too short to hide anything behind. */
static long sized_for(double seconds) {
  long transforms = 64;
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  while (slowest(compute(transforms)) < 0.1) transforms *= 2;
  double fastest = slowest(compute(transforms));
  for (int i = 0; i < 6; ++i) fastest = fmin(fastest, slowest(compute(transforms)));
  return (long)((double)transforms * seconds / fastest);
}

/* ---- files ---- */

static char* buffer;
static int bytes;

static MPI_File open_file(const char* directory, int number) {
  char path[4096];
  MPI_File file;
  MPI_Datatype rows;
  snprintf(path, sizeof(path), "%s/overlap-%d.dat", directory, number);
  check(MPI_File_open(MPI_COMM_WORLD, path,
                      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file),
        "MPI_File_open");
  check(MPI_File_set_size(file, (MPI_Offset)bytes * ranks), "MPI_File_set_size");
  check(MPI_Type_vector(bytes / row, row, row * ranks, MPI_BYTE, &rows), "MPI_Type_vector");
  check(MPI_Type_commit(&rows), "MPI_Type_commit");
  check(MPI_File_set_view(file, (MPI_Offset)rank * row, MPI_BYTE, rows, "native", MPI_INFO_NULL),
        "MPI_File_set_view");
  check(MPI_Type_free(&rows), "MPI_Type_free");
  return file;
}

static void write_blocking(MPI_File file) {
  check(MPI_File_write_at_all(file, 0, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all");
}

static double timed_blocking(MPI_File file) {
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  const double begin = now();
  write_blocking(file);
  return slowest(now() - begin);
}

/* The write with `transforms` between start and wait; `started`: when the starting call was back.
 */
static double timed_nonblocking(MPI_File file, long transforms, double* started) {
  MPI_Request request;
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  const double begin = now();
  check(MPI_File_iwrite_at_all(file, 0, buffer, bytes, MPI_BYTE, &request), "iwrite_at_all");
  if (started != NULL) *started = now() - begin;
  compute(transforms);
  check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  return slowest(now() - begin);
}

/* ---- what the library's thread costs ---- */

/* Seconds the thread of this name has run; 0 if there is none. */
static double thread_seconds(const char* name) {
  double seconds = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) return 0;
  for (struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) {
    char path[512], found[64] = "";
    long long run = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
    FILE* in = fopen(path, "r");
    if (in == NULL) continue;
    const int matches =
        fgets(found, sizeof(found), in) != NULL && strncmp(found, name, strlen(name)) == 0;
    fclose(in);
    if (!matches) continue;
    snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", task->d_name);
    in = fopen(path, "r");
    if (in == NULL) continue;
    if (fscanf(in, "%lld", &run) == 1) seconds += (double)run * 1e-9;
    fclose(in);
  }
  closedir(tasks);
  return seconds;
}

static double thread_idle_second(void) {
  const double before = thread_seconds("choir-progress");
  const struct timespec second = {1, 0};
  nanosleep(&second, NULL);
  return slowest(thread_seconds("choir-progress") - before);
}

/* ---- the application ---- */

static double application_blocking(MPI_File* files, int count, long transforms) {
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  const double begin = now();
  for (int i = 0; i < count; ++i) {
    compute(transforms);
    write_blocking(files[i]);
  }
  return slowest(now() - begin);
}

static double application_overlapped(MPI_File* files, int count, long transforms) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  const double begin = now();
  for (int i = 0; i < count; ++i) {
    compute(transforms);
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(MPI_File_iwrite_at_all(files[i], 0, buffer, bytes, MPI_BYTE, &request), "iwrite_at_all");
  }
  check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  return slowest(now() - begin);
}

static double application_computing(int count, long transforms) {
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  return slowest(compute(count * transforms));
}

/* ---- figures ---- */

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof(double), by_size);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void print_list(const char* name, const double* values, int count) {
  printf("\"%s\": [", name);
  for (int i = 0; i < count; ++i) printf("%s%.6f", i ? ", " : "", values[i]);
  printf("], ");
}

static void measure(const char* directory, int repetitions, int count) {
  double* blocking = calloc((size_t)repetitions, sizeof(double));
  double* nonblocking = calloc((size_t)repetitions, sizeof(double));
  double* computing = calloc((size_t)repetitions, sizeof(double));
  double* overlapped = calloc((size_t)repetitions, sizeof(double));
  double* starts = calloc((size_t)repetitions, sizeof(double));
  MPI_File* files = calloc((size_t)count, sizeof(MPI_File));
  if (!blocking || !nonblocking || !computing || !overlapped || !starts || !files)
    MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < count; ++i) files[i] = open_file(directory, i);
  for (int i = 0; i < 2; ++i) timed_blocking(files[0]); /* warm */
  timed_nonblocking(files[0], 0, NULL);
  for (int i = 0; i < repetitions; ++i) {
    blocking[i] = timed_blocking(files[0]);
    nonblocking[i] = timed_nonblocking(files[0], 0, NULL);
  }
  double sorted[64];
  memcpy(sorted, blocking, (size_t)repetitions * sizeof(double));
  const long transforms = sized_for(median(sorted, repetitions));
  double thread = 0;
  for (int i = 0; i < repetitions; ++i) {
    computing[i] = application_computing(1, transforms);
    double started = 0;
    const double before = thread_seconds("choir-progress");
    overlapped[i] = timed_nonblocking(files[0], transforms, &started);
    thread += slowest(thread_seconds("choir-progress") - before) / repetitions;
    starts[i] = slowest(started);
  }
  const double idle = thread_idle_second();
  double app_computing = application_computing(count, transforms + transforms / 10);
  const double app_blocking = application_blocking(files, count, transforms + transforms / 10);
  /* Again before and after, and the fastest: a busy moment would pass for I/O that was hidden. */
  app_computing = fmin(app_computing, application_computing(count, transforms + transforms / 10));
  const double app_overlapped = application_overlapped(files, count, transforms + transforms / 10);
  app_computing = fmin(app_computing, application_computing(count, transforms + transforms / 10));
  for (int i = 0; i < count; ++i) check(MPI_File_close(&files[i]), "MPI_File_close");
  if (rank == 0) {
    printf("{");
    print_list("blocking", blocking, repetitions);
    print_list("nonblocking", nonblocking, repetitions);
    print_list("computing", computing, repetitions);
    print_list("overlapped", overlapped, repetitions);
    print_list("start", starts, repetitions);
    printf("\"thread_busy_s\": %.6f, \"thread_idle_s\": %.6f, ", thread, idle);
    printf(
        "\"application\": {\"files\": %d, \"computing\": %.6f, \"blocking\": %.6f, \"overlapped\": "
        "%.6f}}\n",
        count, app_computing, app_blocking, app_overlapped);
  }
  free(blocking), free(nonblocking), free(computing), free(overlapped), free(starts), free(files);
}

int main(int argc, char** argv) {
  check(MPI_Init(&argc, &argv), "MPI_Init");
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  const int repetitions = argc == 5 ? atoi(argv[3]) : 0;
  const int count = argc == 5 ? atoi(argv[4]) : 0;
  bytes = argc == 5 ? atoi(argv[2]) / row * row : 0;
  if (bytes < row || repetitions < 1 || repetitions > 64 || count < 1) {
    if (rank == 0)
      fprintf(stderr, "usage: overlap DIR BYTES_PER_RANK(>= 65536) REPETITIONS(1..64) FILES\n");
    MPI_Finalize();
    return 2;
  }
  buffer = malloc((size_t)bytes);
  if (buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(buffer, rank + 1, (size_t)bytes);
  prepare_transform();
  measure(argv[1], repetitions, count);
  free(buffer);
  const double keep = creal(data[1]); /* the transforms are not left out */
  if (isnan(keep)) fprintf(stderr, "overlap: the transforms went wrong\n");
  check(MPI_Finalize(), "MPI_Finalize");
  return 0;
}
