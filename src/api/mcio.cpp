// mcio.cpp: one call over many files, as nonblocking collectives that are under way together.
//
// Nothing here knows the engine: under choir's front door the nonblocking calls are the engine's,
// and it serves all files at once; without it they are the MPI library's own.
#include <choir/mcio.h>

#include <vector>

namespace {

/// Whether all files belong to the same ranks in the same order. Local, and the same answer on all
/// of them.
int check_groups(const MPI_File* files, int count) {
  if (count < 0) return MPI_ERR_COUNT;
  if (count == 0) return MPI_SUCCESS;
  MPI_Group first = MPI_GROUP_NULL;
  int code = MPI_File_get_group(files[0], &first);
  for (int i = 1; i < count && code == MPI_SUCCESS; ++i) {
    MPI_Group other = MPI_GROUP_NULL;
    int relation = MPI_UNEQUAL;
    code = MPI_File_get_group(files[i], &other);
    if (code == MPI_SUCCESS) code = MPI_Group_compare(first, other, &relation);
    if (other != MPI_GROUP_NULL) MPI_Group_free(&other);
    if (code == MPI_SUCCESS && relation != MPI_IDENT) code = MPI_ERR_COMM;
  }
  if (first != MPI_GROUP_NULL) MPI_Group_free(&first);
  return code;
}

/// Reports through the first file's error handler, as a collective call on it would.
int raise(const MPI_File* files, int count, int code) {
  if (code != MPI_SUCCESS) MPI_File_call_errhandler(count > 0 ? files[0] : MPI_FILE_NULL, code);
  return code;
}

/// Starts every file's part. A part that cannot be started keeps a null request and its error.
template <class Start>
std::vector<int> start_all(int count, MPI_Request* requests, Start&& start) {
  std::vector<int> errors(static_cast<std::size_t>(count), MPI_SUCCESS);
  for (int i = 0; i < count; ++i) {
    requests[i] = MPI_REQUEST_NULL;
    errors[static_cast<std::size_t>(i)] = start(i, &requests[i]);
    if (errors[static_cast<std::size_t>(i)] != MPI_SUCCESS) requests[i] = MPI_REQUEST_NULL;
  }
  return errors;
}

int class_of(int code) {
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// Each file's request by itself, so that one file's failure hides no other file's result.
template <class Start>
int run_all(MPI_File* files, int count, MPI_Status* statuses, Start&& start) {
  if (const int code = check_groups(files, count); code != MPI_SUCCESS)
    return raise(files, count, code);
  std::vector<MPI_Request> requests(static_cast<std::size_t>(count), MPI_REQUEST_NULL);
  auto errors = start_all(count, requests.data(), start);
  bool failed = false;
  for (int i = 0; i < count; ++i) {
    auto& error = errors[static_cast<std::size_t>(i)];
    MPI_Status status;
    const int code = MPI_Wait(&requests[static_cast<std::size_t>(i)], &status);
    if (error == MPI_SUCCESS) error = code;
    if (statuses != MPI_STATUSES_IGNORE) {
      statuses[i] = status;
      statuses[i].MPI_ERROR = error == MPI_SUCCESS ? MPI_SUCCESS : class_of(error);
    }
    if (error != MPI_SUCCESS) failed = true;
  }
  return failed ? raise(files, count, MPI_ERR_IN_STATUS) : MPI_SUCCESS;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int MCIO_File_read_all(MPI_File* files, int count, void** buffers, int* counts,
                                MPI_Datatype* types, MPI_Status* statuses) {
  return run_all(files, count, statuses, [&](int i, MPI_Request* request) {
    return MPI_File_iread_all(files[i], buffers[i], counts[i], types[i], request);
  });
}

EXPORTED int MCIO_File_write_all(MPI_File* files, int count, void** buffers, int* counts,
                                 MPI_Datatype* types, MPI_Status* statuses) {
  return run_all(files, count, statuses, [&](int i, MPI_Request* request) {
    return MPI_File_iwrite_all(files[i], buffers[i], counts[i], types[i], request);
  });
}

EXPORTED int MCIO_File_read_at_all(MPI_File* files, int count, MPI_Offset* offsets, void** buffers,
                                   int* counts, MPI_Datatype* types, MPI_Status* statuses) {
  return run_all(files, count, statuses, [&](int i, MPI_Request* request) {
    return MPI_File_iread_at_all(files[i], offsets[i], buffers[i], counts[i], types[i], request);
  });
}

EXPORTED int MCIO_File_write_at_all(MPI_File* files, int count, MPI_Offset* offsets, void** buffers,
                                    int* counts, MPI_Datatype* types, MPI_Status* statuses) {
  return run_all(files, count, statuses, [&](int i, MPI_Request* request) {
    return MPI_File_iwrite_at_all(files[i], offsets[i], buffers[i], counts[i], types[i], request);
  });
}

EXPORTED int MCIO_File_iread_all(MPI_File* files, int count, void** buffers, int* counts,
                                 MPI_Datatype* types, MPI_Request* requests) {
  if (const int code = check_groups(files, count); code != MPI_SUCCESS)
    return raise(files, count, code);
  for (const int error : start_all(count, requests, [&](int i, MPI_Request*request) {
         return MPI_File_iread_all(files[i], buffers[i], counts[i], types[i], request);
       }))
    if (error != MPI_SUCCESS) return error;
  return MPI_SUCCESS;
}

EXPORTED int MCIO_File_iwrite_all(MPI_File* files, int count, void** buffers, int* counts,
                                  MPI_Datatype* types, MPI_Request* requests) {
  if (const int code = check_groups(files, count); code != MPI_SUCCESS)
    return raise(files, count, code);
  for (const int error : start_all(count, requests, [&](int i, MPI_Request*request) {
         return MPI_File_iwrite_all(files[i], buffers[i], counts[i], types[i], request);
       }))
    if (error != MPI_SUCCESS) return error;
  return MPI_SUCCESS;
}
