// mcio_fortran.cpp: the functions behind the Fortran modules choir_mcio and choir_mcio_f08.
//
// Handles are Fortran integers (an mpi_f08 handle is one in a derived type), statuses are Fortran
// statuses, buffers are C addresses (c_loc).
#include <choir/mcio.h>

#include <vector>

#ifdef MPICH_VERSION
// In MPICH's Fortran library since 4.2, which C programs do not load.
#pragma weak MPI_F08_STATUSES_IGNORE
#endif

namespace {

#ifdef MPI_F_STATUS_SIZE
constexpr int status_integers = MPI_F_STATUS_SIZE;
#else
constexpr int status_integers = sizeof(MPI_Status) / sizeof(MPI_Fint);
#endif

bool ignored(const MPI_Fint* statuses) {
  if (statuses == nullptr || statuses == MPI_F_STATUSES_IGNORE) return true;
#ifdef MPICH_VERSION
  if (&MPI_F08_STATUSES_IGNORE != nullptr &&
      static_cast<const void*>(statuses) == static_cast<const void*>(MPI_F08_STATUSES_IGNORE))
    return true;
#endif
  return false;
}

/// The handles of a call, as C has them.
struct Handles {
  Handles(const MPI_Fint* fortran_files, const MPI_Fint* fortran_types, int count) {
    for (int i = 0; i < count; ++i) {
      files.push_back(MPI_File_f2c(fortran_files[i]));
      types.push_back(MPI_Type_f2c(fortran_types[i]));
    }
  }
  std::vector<MPI_File> files;
  std::vector<MPI_Datatype> types;
};

template <class Run>
void blocking(const MPI_Fint* files, int count, const MPI_Fint* types, MPI_Fint* statuses,
              MPI_Fint* error, Run&& run) {
  Handles handles(files, types, count);
  std::vector<MPI_Status> results(static_cast<std::size_t>(count > 0 ? count : 0));
  const bool wanted = !ignored(statuses);
  *error = run(handles, wanted ? results.data() : MPI_STATUSES_IGNORE);
  const bool filled = *error == MPI_SUCCESS || *error == MPI_ERR_IN_STATUS;
  for (int i = 0; wanted && filled && i < count; ++i)
    MPI_Status_c2f(&results[static_cast<std::size_t>(i)], statuses + i * status_integers);
}

template <class Start>
void nonblocking(const MPI_Fint* files, int count, const MPI_Fint* types, MPI_Fint* requests,
                 MPI_Fint* error, Start&& start) {
  Handles handles(files, types, count);
  std::vector<MPI_Request> made(static_cast<std::size_t>(count > 0 ? count : 0), MPI_REQUEST_NULL);
  *error = start(handles, made.data());
  for (int i = 0; i < count; ++i) requests[i] = MPI_Request_c2f(made[static_cast<std::size_t>(i)]);
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

#define FORTRAN_CALLS(op)                                                                         \
  EXPORTED void choir_mcio_##op##_all(const MPI_Fint* files, int count, void** buffers,           \
                                      int* counts, const MPI_Fint* types, MPI_Fint* statuses,     \
                                      MPI_Fint* error) {                                          \
    blocking(files, count, types, statuses, error, [&](Handles& h, MPI_Status* results) {         \
      return MCIO_File_##op##_all(h.files.data(), count, buffers, counts, h.types.data(),         \
                                  results);                                                       \
    });                                                                                           \
  }                                                                                               \
  EXPORTED void choir_mcio_##op##_at_all(const MPI_Fint* files, int count, MPI_Offset* offsets,   \
                                         void** buffers, int* counts, const MPI_Fint* types,      \
                                         MPI_Fint* statuses, MPI_Fint* error) {                   \
    blocking(files, count, types, statuses, error, [&](Handles& h, MPI_Status* results) {         \
      return MCIO_File_##op##_at_all(h.files.data(), count, offsets, buffers, counts,             \
                                     h.types.data(), results);                                    \
    });                                                                                           \
  }                                                                                               \
  EXPORTED void choir_mcio_i##op##_all(const MPI_Fint* files, int count, void** buffers,          \
                                       int* counts, const MPI_Fint* types, MPI_Fint* requests,    \
                                       MPI_Fint* error) {                                         \
    nonblocking(files, count, types, requests, error, [&](Handles& h, MPI_Request* made) {        \
      return MCIO_File_i##op##_all(h.files.data(), count, buffers, counts, h.types.data(), made); \
    });                                                                                           \
  }                                                                                               \
  EXPORTED void choir_mcio_i##op##_at_all(const MPI_Fint* files, int count, MPI_Offset* offsets,  \
                                          void** buffers, int* counts, const MPI_Fint* types,     \
                                          MPI_Fint* requests, MPI_Fint* error) {                  \
    nonblocking(files, count, types, requests, error, [&](Handles& h, MPI_Request* made) {        \
      return MCIO_File_i##op##_at_all(h.files.data(), count, offsets, buffers, counts,            \
                                      h.types.data(), made);                                      \
    });                                                                                           \
  }

FORTRAN_CALLS(read)
FORTRAN_CALLS(write)

// The same functions for mpi_f08, whose arguments have other types in Fortran but not here: a
// second name keeps compilers that see both modules from comparing them.
#define SECOND_NAME(call)                                      \
  extern "C" decltype(choir_mcio_##call) choir_mcio_f08_##call \
      __attribute__((alias("choir_mcio_" #call), visibility("default")))

SECOND_NAME(read_all);
SECOND_NAME(read_at_all);
SECOND_NAME(iread_all);
SECOND_NAME(iread_at_all);
SECOND_NAME(write_all);
SECOND_NAME(write_at_all);
SECOND_NAME(iwrite_all);
SECOND_NAME(iwrite_at_all);
