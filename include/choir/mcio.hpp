// mcio.hpp: multi-collective I/O for C++: a list of parts, each a file and a span of values.
#pragma once

#include <choir/mcio.h>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace choir::mcio {

/// One file's share of a call. The buffer stays the caller's.
struct Part {
  MPI_File file;
  void* buffer;
  int count;
  MPI_Datatype type;
  MPI_Offset offset = 0;  ///< in etypes; only for the calls at offsets
};

inline MPI_Datatype type_of(const double*) { return MPI_DOUBLE; }
inline MPI_Datatype type_of(const float*) { return MPI_FLOAT; }
inline MPI_Datatype type_of(const std::int32_t*) { return MPI_INT32_T; }
inline MPI_Datatype type_of(const std::int64_t*) { return MPI_INT64_T; }
inline MPI_Datatype type_of(const char*) { return MPI_CHAR; }
inline MPI_Datatype type_of(const unsigned char*) { return MPI_UNSIGNED_CHAR; }

/// What a rank reads from, or writes to, one file.
template <class Value>
Part part(MPI_File file, std::span<Value> values, MPI_Offset offset = 0) {
  using Plain = std::remove_const_t<Value>;
  return {file, const_cast<Plain*>(values.data()), static_cast<int>(values.size()),
          type_of(static_cast<const Plain*>(nullptr)), offset};
}

namespace detail {

/// The arrays of the C functions.
struct Arrays {
  explicit Arrays(std::span<const Part> parts) {
    for (const auto& one : parts) {
      files.push_back(one.file);
      offsets.push_back(one.offset);
      buffers.push_back(one.buffer);
      counts.push_back(one.count);
      types.push_back(one.type);
    }
  }
  int count() const { return static_cast<int>(files.size()); }

  std::vector<MPI_File> files;
  std::vector<MPI_Offset> offsets;
  std::vector<void*> buffers;
  std::vector<int> counts;
  std::vector<MPI_Datatype> types;
};

inline MPI_Status* room_for(std::vector<MPI_Status>* statuses, std::size_t count) {
  if (statuses == nullptr) return MPI_STATUSES_IGNORE;
  statuses->resize(count);
  return statuses->data();
}

template <class Function>
int at_pointers(Function function, std::span<const Part> parts, std::vector<MPI_Status>* statuses) {
  Arrays a(parts);
  return function(a.files.data(), a.count(), a.buffers.data(), a.counts.data(), a.types.data(),
                  room_for(statuses, parts.size()));
}

template <class Function>
int at_offsets(Function function, std::span<const Part> parts, std::vector<MPI_Status>* statuses) {
  Arrays a(parts);
  return function(a.files.data(), a.count(), a.offsets.data(), a.buffers.data(), a.counts.data(),
                  a.types.data(), room_for(statuses, parts.size()));
}

template <class Function>
int started(Function function, std::span<const Part> parts, std::vector<MPI_Request>& requests) {
  Arrays a(parts);
  requests.assign(parts.size(), MPI_REQUEST_NULL);
  return function(a.files.data(), a.count(), a.buffers.data(), a.counts.data(), a.types.data(),
                  requests.data());
}

}  // namespace detail

/// Collective. At the files' pointers; one status per part, in `statuses` if it is not null.
inline int write_all(std::span<const Part> parts, std::vector<MPI_Status>* statuses = nullptr) {
  return detail::at_pointers(MCIO_File_write_all, parts, statuses);
}
inline int read_all(std::span<const Part> parts, std::vector<MPI_Status>* statuses = nullptr) {
  return detail::at_pointers(MCIO_File_read_all, parts, statuses);
}

/// Collective. At the parts' offsets.
inline int write_at_all(std::span<const Part> parts, std::vector<MPI_Status>* statuses = nullptr) {
  return detail::at_offsets(MCIO_File_write_at_all, parts, statuses);
}
inline int read_at_all(std::span<const Part> parts, std::vector<MPI_Status>* statuses = nullptr) {
  return detail::at_offsets(MCIO_File_read_at_all, parts, statuses);
}

/// Collective, nonblocking. At the files' pointers; one request per part.
inline int iwrite_all(std::span<const Part> parts, std::vector<MPI_Request>& requests) {
  return detail::started(MCIO_File_iwrite_all, parts, requests);
}
inline int iread_all(std::span<const Part> parts, std::vector<MPI_Request>& requests) {
  return detail::started(MCIO_File_iread_all, parts, requests);
}

}  // namespace choir::mcio
