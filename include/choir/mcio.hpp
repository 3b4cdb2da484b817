// mcio.hpp: multi-collective I/O for C++: a list of parts, each a file and a span of values.
#pragma once

#include <choir/mcio.h>

#include <cstdint>
#include <span>
#include <vector>

namespace choir::mcio {

/// One file's share of a call. The buffer stays the caller's.
struct Part {
  MPI_File file;
  void* buffer;
  int count;
  MPI_Datatype type;
};

inline MPI_Datatype type_of(const double*) { return MPI_DOUBLE; }
inline MPI_Datatype type_of(const float*) { return MPI_FLOAT; }
inline MPI_Datatype type_of(const std::int32_t*) { return MPI_INT32_T; }
inline MPI_Datatype type_of(const std::int64_t*) { return MPI_INT64_T; }
inline MPI_Datatype type_of(const char*) { return MPI_CHAR; }
inline MPI_Datatype type_of(const unsigned char*) { return MPI_UNSIGNED_CHAR; }

/// What a rank reads from, or writes to, one file.
template <class Value>
Part part(MPI_File file, std::span<Value> values) {
  using Plain = std::remove_const_t<Value>;
  return {file, const_cast<Plain*>(values.data()), static_cast<int>(values.size()),
          type_of(static_cast<const Plain*>(nullptr))};
}

/// Collective. One status per part, in `statuses` if it is not null.
inline int write_all(std::span<const Part> parts, std::vector<MPI_Status>* statuses = nullptr);
inline int read_all(std::span<const Part> parts, std::vector<MPI_Status>* statuses = nullptr);

namespace detail {

template <class Function>
int call(Function function, std::span<const Part> parts, std::vector<MPI_Status>* statuses) {
  std::vector<MPI_File> files;
  std::vector<void*> buffers;
  std::vector<int> counts;
  std::vector<MPI_Datatype> types;
  for (const auto& one : parts) {
    files.push_back(one.file);
    buffers.push_back(one.buffer);
    counts.push_back(one.count);
    types.push_back(one.type);
  }
  if (statuses != nullptr) statuses->resize(parts.size());
  return function(files.data(), static_cast<int>(parts.size()), buffers.data(), counts.data(),
                  types.data(), statuses != nullptr ? statuses->data() : MPI_STATUSES_IGNORE);
}

}  // namespace detail

inline int write_all(std::span<const Part> parts, std::vector<MPI_Status>* statuses) {
  return detail::call(MCIO_File_write_all, parts, statuses);
}
inline int read_all(std::span<const Part> parts, std::vector<MPI_Status>* statuses) {
  return detail::call(MCIO_File_read_all, parts, statuses);
}

}  // namespace choir::mcio
