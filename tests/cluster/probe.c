/* probe.c: what a job sees of the lab. probe groups | inside BYTES | between BYTES
 *
 * groups prints, by rank: the host name and the lowest rank it shares memory with. inside sends
 * BYTES to the next rank of the same node, between sends BYTES from the first rank to the last one.
 * Every transfer is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void fail(const char* what) {
  fprintf(stderr, "probe: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Comm node_of_this_rank(void) {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  return node;
}

static void groups(void) {
  MPI_Comm node = node_of_this_rank();
  int lowest = rank;
  MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  char line[MPI_MAX_PROCESSOR_NAME + 64], host[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(host, &length);
  memset(line, 0, sizeof line);
  snprintf(line, sizeof line, "%d %s %d", rank, host, lowest);
  char* all = rank == 0 ? malloc((size_t)ranks * sizeof line) : NULL;
  MPI_Gather(line, (int)sizeof line, MPI_CHAR, all, (int)sizeof line, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i) printf("%s\n", all + (size_t)i * sizeof line);
  free(all);
}

static void transfer(MPI_Comm comm, int from, int to, int bytes) {
  int me;
  MPI_Comm_rank(comm, &me);
  if (me != from && me != to) return;
  unsigned char* data = malloc((size_t)bytes);
  if (data == NULL) fail("out of memory");
  memset(data, me == from ? 0xc5 : 0, (size_t)bytes);
  if (me == from) {
    MPI_Send(data, bytes, MPI_BYTE, to, 7, comm);
  } else {
    MPI_Recv(data, bytes, MPI_BYTE, from, 7, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; ++i)
      if (data[i] != 0xc5) fail("received other bytes than were sent");
  }
  free(data);
}

static void inside(int bytes) {
  MPI_Comm node = node_of_this_rank();
  int size;
  MPI_Comm_size(node, &size);
  if (size > 1) transfer(node, 0, 1, bytes);
  MPI_Comm_free(&node);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* what = argc > 1 ? argv[1] : "";
  const int bytes = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(what, "groups") == 0)
    groups();
  else if (strcmp(what, "inside") == 0 && bytes > 0)
    inside(bytes);
  else if (strcmp(what, "between") == 0 && bytes > 0)
    transfer(MPI_COMM_WORLD, 0, ranks - 1, bytes);
  else
    fail("usage: probe groups | inside BYTES | between BYTES");
  MPI_Finalize();
  return 0;
}
