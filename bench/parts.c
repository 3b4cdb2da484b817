/* parts FILE: what a small collective call on one node is made of, in nanoseconds, as one line of
 * JSON.
 *
 * meeting: two threads on two cores each write a cache line and wait for the other's, as ranks do
 * at the opening of a call. size: asking for the size of the file. copy: 4 KiB into its mapping, 16
 * places in turn. write: 4 KiB by pwrite, the same places. For bench/small-calls; best of five
 * rounds. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { rounds = 5, times = 200000, block = 4096, places = 16 };

typedef struct {
  _Alignas(64) long content[7];
  atomic_long arrived;
} Line;

static Line lines[2][2]; /* by parity of the meeting and by thread */
static atomic_long sum;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static void meet(int me, long first) {
  long heard = 0;
  for (long i = first + 1; i <= first + times; ++i) {
    Line* const mine = &lines[i % 2][me];
    Line* const other = &lines[i % 2][1 - me];
    for (int k = 0; k < 7; ++k) mine->content[k] = i + k;
    atomic_store_explicit(&mine->arrived, i, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    while (atomic_load_explicit(&other->arrived, memory_order_acquire) < i) {
    }
    for (int k = 0; k < 7; ++k) heard += other->content[k];
  }
  atomic_fetch_add(&sum, heard); /* what was heard is not left out */
}

static void* partner(void* first) {
  meet(1, *(long*)first);
  return NULL;
}

static double meeting(long first) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, partner, &first) != 0) fail("pthread_create");
  const double begin = now();
  meet(0, first);
  const double taken = now() - begin;
  pthread_join(thread, NULL);
  return taken / times;
}

static double asking(int fd) {
  const double begin = now();
  for (int i = 0; i < times; ++i)
    if (lseek(fd, 0, SEEK_END) < 0) fail("lseek");
  return (now() - begin) / times;
}

static double copying(char* pages, const char* buffer) {
  const double begin = now();
  for (int i = 0; i < times; ++i) {
    memcpy(pages + (i % places) * 2 * block, buffer, block);
    __asm__ volatile("" ::: "memory");
  }
  return (now() - begin) / times;
}

static double writing(int fd, const char* buffer) {
  const double begin = now();
  for (int i = 0; i < times; ++i)
    if (pwrite(fd, buffer, block, (off_t)(i % places) * 2 * block) != block) fail("pwrite");
  return (now() - begin) / times;
}

int main(int argc, char** argv) {
  static char buffer[block];
  double best[4] = {1e9, 1e9, 1e9, 1e9};
  if (argc != 2) {
    fprintf(stderr, "usage: parts FILE\n");
    return 2;
  }
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
    fprintf(stderr, "parts: two threads that wait for each other need two cores\n");
    return 1;
  }
  const int fd = open(argv[1], O_CREAT | O_RDWR, 0600);
  if (fd < 0 || ftruncate(fd, 2 * places * block) != 0) fail(argv[1]);
  char* const pages = mmap(NULL, 2 * places * block, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pages == MAP_FAILED) fail("mmap");
  memset(buffer, 1, block);
  for (int round = 0; round < rounds; ++round) {
    const double taken[4] = {meeting((long)round * times), asking(fd), copying(pages, buffer),
                             writing(fd, buffer)};
    for (int i = 0; i < 4; ++i)
      if (taken[i] < best[i]) best[i] = taken[i];
  }
  printf("{\"meeting\": %.0f, \"size\": %.0f, \"copy\": %.0f, \"write\": %.0f}\n", best[0], best[1],
         best[2], best[3]);
  munmap(pages, 2 * places * block);
  close(fd);
  unlink(argv[1]);
  return atomic_load(&sum) == 0;
}
