/* mcio.h: multi-collective I/O: one collective call over many files.
 *
 * Programs that write one file per variable make n collective calls one after the other, and each
 * synchronises everyone. Here the ranks agree once on all files, all files' exchanges and storage
 * run in one pipeline, and the ranks meet once at the end.
 *
 * Every function is collective over the ranks of the files: all ranks name the same files in the
 * same order. The files must have been opened by the same group of ranks (else MPI_ERR_COMM on all
 * of them). A file may appear several times; parts of one call that overlap in the file are
 * concurrent accesses, and which of two writes is seen there is not defined. A rank with nothing
 * for a file gives count 0.
 *
 * The result is MPI_SUCCESS, or MPI_ERR_IN_STATUS if a file failed: then statuses[i].MPI_ERROR
 * tells for each file, on all ranks alike, each failed file's error handler has been called, and
 * the other files are complete. `statuses` may be MPI_STATUSES_IGNORE.
 *
 * Without `choir run` the calls work too, by the MPI library's own nonblocking collectives.
 */
#ifndef CHOIR_MCIO_H
#define CHOIR_MCIO_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* At each file's individual file pointer. */
int MCIO_File_read_all(MPI_File* files, int file_count, void** buffers, int* counts,
                       MPI_Datatype* types, MPI_Status* statuses);
int MCIO_File_write_all(MPI_File* files, int file_count, void** buffers, int* counts,
                        MPI_Datatype* types, MPI_Status* statuses);

/* At explicit offsets, in etypes of each file's view. */
int MCIO_File_read_at_all(MPI_File* files, int file_count, MPI_Offset* offsets, void** buffers,
                          int* counts, MPI_Datatype* types, MPI_Status* statuses);
int MCIO_File_write_at_all(MPI_File* files, int file_count, MPI_Offset* offsets, void** buffers,
                           int* counts, MPI_Datatype* types, MPI_Status* statuses);

/* Nonblocking: `requests` has room for one request per file; complete them with MPI_Waitall or in
 * any order. The parts are carried out together, so all of them complete at the same time. */
int MCIO_File_iread_all(MPI_File* files, int file_count, void** buffers, int* counts,
                        MPI_Datatype* types, MPI_Request* requests);
int MCIO_File_iwrite_all(MPI_File* files, int file_count, void** buffers, int* counts,
                         MPI_Datatype* types, MPI_Request* requests);
int MCIO_File_iread_at_all(MPI_File* files, int file_count, MPI_Offset* offsets, void** buffers,
                           int* counts, MPI_Datatype* types, MPI_Request* requests);
int MCIO_File_iwrite_at_all(MPI_File* files, int file_count, MPI_Offset* offsets, void** buffers,
                            int* counts, MPI_Datatype* types, MPI_Request* requests);

#ifdef __cplusplus
}
#endif

#endif
