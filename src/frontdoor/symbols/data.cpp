// data.cpp: the collective data calls, blocking, nonblocking and split, with their large-count
// forms.
#include "frontdoor/collective.hpp"
#include "mpi/real.hpp"
#include "symbols/both.hpp"

namespace {

using choir::DataCall;
using choir::Operation;

DataCall by_pointer(MPI_File file, Operation operation, const char* name, const void* buffer,
                    std::int64_t count, MPI_Datatype type) {
  return {file, operation, name, std::nullopt, const_cast<void*>(buffer), count, type};
}

DataCall by_offset(MPI_File file, Operation operation, const char* name, MPI_Offset offset,
                   const void* buffer, std::int64_t count, MPI_Datatype type) {
  return {file, operation, name, offset, const_cast<void*>(buffer), count, type};
}

}  // namespace

#define DATA_CALLS(op, Const, Count, suffix)                                                       \
  BOTH(File_##op##_all##suffix,                                                                    \
       (MPI_File file, Const void* buffer, Count count, MPI_Datatype type, MPI_Status* status),    \
       choir::blocking_collective(                                                                 \
           by_pointer(file, Operation::op, #op "_all", buffer, count, type), status,               \
           [&](MPI_Status* s) {                                                                    \
             return REAL(File_##op##_all##suffix)(file, buffer, count, type, s);                   \
           }))                                                                                     \
  BOTH(File_##op##_at_all##suffix,                                                                 \
       (MPI_File file, MPI_Offset offset, Const void* buffer, Count count, MPI_Datatype type,      \
        MPI_Status* status),                                                                       \
       choir::blocking_collective(                                                                 \
           by_offset(file, Operation::op, #op "_at_all", offset, buffer, count, type), status,     \
           [&](MPI_Status* s) {                                                                    \
             return REAL(File_##op##_at_all##suffix)(file, offset, buffer, count, type, s);        \
           }))                                                                                     \
  BOTH(File_i##op##_all##suffix,                                                                   \
       (MPI_File file, Const void* buffer, Count count, MPI_Datatype type, MPI_Request* request),  \
       choir::nonblocking_collective(                                                              \
           by_pointer(file, Operation::op, "i" #op "_all", buffer, count, type), request,          \
           [&] { return REAL(File_i##op##_all##suffix)(file, buffer, count, type, request); }))    \
  BOTH(File_i##op##_at_all##suffix,                                                                \
       (MPI_File file, MPI_Offset offset, Const void* buffer, Count count, MPI_Datatype type,      \
        MPI_Request* request),                                                                     \
       choir::nonblocking_collective(                                                              \
           by_offset(file, Operation::op, "i" #op "_at_all", offset, buffer, count, type),         \
           request, [&] {                                                                          \
             return REAL(File_i##op##_at_all##suffix)(file, offset, buffer, count, type, request); \
           }))                                                                                     \
  BOTH(File_##op##_all_begin##suffix,                                                              \
       (MPI_File file, Const void* buffer, Count count, MPI_Datatype type),                        \
       choir::split_begin(                                                                         \
           by_pointer(file, Operation::op, #op "_all_begin", buffer, count, type),                 \
           [&] { return REAL(File_##op##_all_begin##suffix)(file, buffer, count, type); }))        \
  BOTH(File_##op##_at_all_begin##suffix,                                                           \
       (MPI_File file, MPI_Offset offset, Const void* buffer, Count count, MPI_Datatype type),     \
       choir::split_begin(                                                                         \
           by_offset(file, Operation::op, #op "_at_all_begin", offset, buffer, count, type), [&] { \
             return REAL(File_##op##_at_all_begin##suffix)(file, offset, buffer, count, type);     \
           }))

/// Left to the host MPI, and counted.
#define ORDERED_CALLS(op, Const, Count, suffix)                                                 \
  BOTH(File_##op##_ordered##suffix,                                                             \
       (MPI_File file, Const void* buffer, Count count, MPI_Datatype type, MPI_Status* status), \
       (choir::note_shared_pointer(file, #op "_ordered"),                                       \
        REAL(File_##op##_ordered##suffix)(file, buffer, count, type, status)))                  \
  BOTH(File_##op##_ordered_begin##suffix,                                                       \
       (MPI_File file, Const void* buffer, Count count, MPI_Datatype type),                     \
       (choir::note_shared_pointer(file, #op "_ordered_begin"),                                 \
        REAL(File_##op##_ordered_begin##suffix)(file, buffer, count, type)))

#define SPLIT_ENDS(op, Const)                                                           \
  BOTH(File_##op##_all_end, (MPI_File file, Const void* buffer, MPI_Status* status),    \
       choir::split_end(file, status, [&](MPI_Status* s) {                              \
         return REAL(File_##op##_all_end)(file, buffer, s);                             \
       }))                                                                              \
  BOTH(File_##op##_at_all_end, (MPI_File file, Const void* buffer, MPI_Status* status), \
       choir::split_end(file, status, [&](MPI_Status* s) {                              \
         return REAL(File_##op##_at_all_end)(file, buffer, s);                          \
       }))

#define NOT_CONST
DATA_CALLS(read, NOT_CONST, int, )
DATA_CALLS(write, const, int, )
ORDERED_CALLS(read, NOT_CONST, int, )
ORDERED_CALLS(write, const, int, )
SPLIT_ENDS(read, NOT_CONST)
SPLIT_ENDS(write, const)
#ifdef CHOIR_HAS_LARGE_COUNT
DATA_CALLS(read, NOT_CONST, MPI_Count, _c)
DATA_CALLS(write, const, MPI_Count, _c)
ORDERED_CALLS(read, NOT_CONST, MPI_Count, _c)
ORDERED_CALLS(write, const, MPI_Count, _c)
#endif
