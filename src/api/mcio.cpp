// mcio.cpp: one call over many files.
//
// Nothing here knows the engine. Under choir's front door the call is one joint call of the engine,
// with one agreement; without it, the MPI library's own nonblocking collectives that are under way
// together.
#include <choir/mcio.h>
#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "frontdoor/multi_entry.h"

namespace {

/// The front door's functions; null if it is not loaded.
template <class Function>
Function* front_door(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// Whether all files belong to the same ranks in the same order. Local, and the same answer on all
/// of them.
int check_groups(const MPI_File* files, int count) {
  if (count < 0) return MPI_ERR_COUNT;
  if (count > 0 && files == nullptr) return MPI_ERR_ARG;
  for (int i = 0; i < count; ++i)
    if (files[i] == MPI_FILE_NULL) return MPI_ERR_FILE;
  if (count == 0) return MPI_SUCCESS;
  MPI_Group first = MPI_GROUP_NULL;
  int code = MPI_File_get_group(files[0], &first);
  for (int i = 1; i < count && code == MPI_SUCCESS; ++i) {
    if (files[i] == files[0]) continue;
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
  const bool has_file = count > 0 && files != nullptr;
  if (code != MPI_SUCCESS) MPI_File_call_errhandler(has_file ? files[0] : MPI_FILE_NULL, code);
  return code;
}

int class_of(int code) {
  int error_class = MPI_ERR_OTHER;
  if (code == MPI_SUCCESS) return MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// What one function was given. `offsets` is null for the calls at file pointers.
struct Arguments {
  bool writing;
  MPI_File* files;
  int count;
  MPI_Offset* offsets;
  void** buffers;
  int* counts;
  MPI_Datatype* types;

  std::vector<choir_multi_part> parts() const {
    std::vector<choir_multi_part> all;
    all.reserve(static_cast<std::size_t>(std::max(0, count)));
    for (int i = 0; i < count; ++i)
      all.push_back({files[i], offsets != nullptr ? 1 : 0, offsets != nullptr ? offsets[i] : 0,
                     buffers[i], counts[i], types[i]});
    return all;
  }

  int start(int i, MPI_Request* request) const {
    if (writing)
      return offsets != nullptr
                 ? MPI_File_iwrite_at_all(files[i], offsets[i], buffers[i], counts[i], types[i],
                                          request)
                 : MPI_File_iwrite_all(files[i], buffers[i], counts[i], types[i], request);
    return offsets != nullptr
               ? MPI_File_iread_at_all(files[i], offsets[i], buffers[i], counts[i], types[i],
                                       request)
               : MPI_File_iread_all(files[i], buffers[i], counts[i], types[i], request);
  }
};

/// Starts every file's part. A part that cannot be started keeps a null request and its error.
std::vector<int> start_all(const Arguments& call, MPI_Request* requests) {
  std::vector<int> errors(static_cast<std::size_t>(call.count), MPI_SUCCESS);
  for (int i = 0; i < call.count; ++i) requests[i] = MPI_REQUEST_NULL;
  if (auto* const start = front_door<choir_multi_start_function>(CHOIR_MULTI_START)) {
    start(call.writing ? 1 : 0, call.count, call.parts().data(), requests, errors.data());
    return errors;
  }
  for (int i = 0; i < call.count; ++i) {
    auto& error = errors[static_cast<std::size_t>(i)];
    error = call.start(i, &requests[i]);
    if (error != MPI_SUCCESS) requests[i] = MPI_REQUEST_NULL;
  }
  return errors;
}

/// By the MPI library: each file's request by itself, so that one file's failure hides no other
/// file's result.
std::vector<int> run_on_host(const Arguments& call, MPI_Status* statuses) {
  std::vector<MPI_Request> requests(static_cast<std::size_t>(call.count), MPI_REQUEST_NULL);
  auto errors = start_all(call, requests.data());
  for (int i = 0; i < call.count; ++i) {
    MPI_Status status;
    const int code = MPI_Wait(&requests[static_cast<std::size_t>(i)], &status);
    auto& error = errors[static_cast<std::size_t>(i)];
    if (error == MPI_SUCCESS) error = code;
    if (statuses != MPI_STATUSES_IGNORE) statuses[i] = status;
  }
  return errors;
}

int run_all(const Arguments& call, MPI_Status* statuses) {
  if (const int code = check_groups(call.files, call.count); code != MPI_SUCCESS)
    return raise(call.files, call.count, code);
  std::vector<int> errors(static_cast<std::size_t>(call.count), MPI_SUCCESS);
  if (auto* const run = front_door<choir_multi_run_function>(CHOIR_MULTI_RUN))
    run(call.writing ? 1 : 0, call.count, call.parts().data(), statuses, errors.data());
  else
    errors = run_on_host(call, statuses);
  bool failed = false;
  for (int i = 0; i < call.count; ++i) {
    const int error = class_of(errors[static_cast<std::size_t>(i)]);
    if (statuses != MPI_STATUSES_IGNORE) statuses[i].MPI_ERROR = error;
    if (error != MPI_SUCCESS) failed = true;
  }
  return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int begin_all(const Arguments& call, MPI_Request* requests) {
  if (const int code = check_groups(call.files, call.count); code != MPI_SUCCESS)
    return raise(call.files, call.count, code);
  for (const int error : start_all(call, requests))
    if (error != MPI_SUCCESS) return error;
  return MPI_SUCCESS;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int MCIO_File_read_all(MPI_File* files, int count, void** buffers, int* counts,
                                MPI_Datatype* types, MPI_Status* statuses) {
  return run_all({false, files, count, nullptr, buffers, counts, types}, statuses);
}

EXPORTED int MCIO_File_write_all(MPI_File* files, int count, void** buffers, int* counts,
                                 MPI_Datatype* types, MPI_Status* statuses) {
  return run_all({true, files, count, nullptr, buffers, counts, types}, statuses);
}

EXPORTED int MCIO_File_read_at_all(MPI_File* files, int count, MPI_Offset* offsets, void** buffers,
                                   int* counts, MPI_Datatype* types, MPI_Status* statuses) {
  return run_all({false, files, count, offsets, buffers, counts, types}, statuses);
}

EXPORTED int MCIO_File_write_at_all(MPI_File* files, int count, MPI_Offset* offsets, void** buffers,
                                    int* counts, MPI_Datatype* types, MPI_Status* statuses) {
  return run_all({true, files, count, offsets, buffers, counts, types}, statuses);
}

EXPORTED int MCIO_File_iread_all(MPI_File* files, int count, void** buffers, int* counts,
                                 MPI_Datatype* types, MPI_Request* requests) {
  return begin_all({false, files, count, nullptr, buffers, counts, types}, requests);
}

EXPORTED int MCIO_File_iwrite_all(MPI_File* files, int count, void** buffers, int* counts,
                                  MPI_Datatype* types, MPI_Request* requests) {
  return begin_all({true, files, count, nullptr, buffers, counts, types}, requests);
}

EXPORTED int MCIO_File_iread_at_all(MPI_File* files, int count, MPI_Offset* offsets, void** buffers,
                                    int* counts, MPI_Datatype* types, MPI_Request* requests) {
  return begin_all({false, files, count, offsets, buffers, counts, types}, requests);
}

EXPORTED int MCIO_File_iwrite_at_all(MPI_File* files, int count, MPI_Offset* offsets,
                                     void** buffers, int* counts, MPI_Datatype* types,
                                     MPI_Request* requests) {
  return begin_all({true, files, count, offsets, buffers, counts, types}, requests);
}
