/* multi_entry.h: what libchoir.so asks of the front door, found by name when it is loaded.
 *
 * C only, and versioned by the functions' names: the two libraries may come from different builds.
 */
#ifndef CHOIR_FRONTDOOR_MULTI_ENTRY_H
#define CHOIR_FRONTDOOR_MULTI_ENTRY_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One file's share of a call. */
struct choir_multi_part {
  MPI_File file;
  int by_offset; /* 0: at the individual file pointer */
  MPI_Offset offset;
  void* buffer;
  int count;
  MPI_Datatype type;
};

/* Collective over the ranks of the files, which the caller has found to be the same. Both give an
 * error class per part in `errors`. The errors of files have been told to their error handlers. */
typedef void choir_multi_run_function(int writing, int count, const struct choir_multi_part* parts,
                                      MPI_Status* statuses, int* errors);
/* `errors` has what kept a part from being started. */
typedef void choir_multi_start_function(int writing, int count,
                                        const struct choir_multi_part* parts, MPI_Request* requests,
                                        int* errors);

#define CHOIR_MULTI_RUN "choir_multi_run_1"
#define CHOIR_MULTI_START "choir_multi_start_1"

#ifdef __cplusplus
}
#endif

#endif
