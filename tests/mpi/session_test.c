/* session_test.c: session_test DIR: a collective write and read on a communicator of an MPI
 * session, without MPI_Init.
 *
 * MPICH 4.0 opens no files there; then it shall say so under choir too, instead of hanging or
 * crashing. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 1000 };

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_File file;
  int rank, good = 1;
  char path[4096], mine[BYTES], found[BYTES];
  if (argc != 2) return 2;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "choir-session-test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Comm_rank(comm, &rank);
  snprintf(path, sizeof path, "%s/session.data", argv[1]);
  memset(mine, 'a' + rank, BYTES);
  if (MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                    MPI_INFO_NULL, &file) != MPI_SUCCESS) {
    if (rank == 0) puts("session_test: no files in sessions");
    MPI_Session_finalize(&session);
    return 0;
  }
  good &= MPI_File_write_at_all(file, (MPI_Offset)BYTES * rank, mine, BYTES, MPI_BYTE,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS;
  good &= MPI_File_read_at_all(file, (MPI_Offset)BYTES * rank, found, BYTES, MPI_BYTE,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS;
  good &= memcmp(mine, found, BYTES) == 0;
  good &= MPI_File_close(&file) == MPI_SUCCESS;
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  if (rank == 0) puts(good ? "session_test: good" : "session_test: failed");
  return !good;
}
