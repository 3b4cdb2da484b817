// unique.hpp: one owner for every kind of MPI handle.
#pragma once

#include <mpi.h>

#include <utility>

#include "mpi/job.hpp"

namespace choir {

/// Frees what it holds. `null()` is a function: Open MPI's nulls are not constant expressions.
template <class Traits>
class Unique {
 public:
  using Handle = typename Traits::Handle;
  Unique() noexcept : handle_(Traits::null()) {}
  explicit Unique(Handle h) noexcept : handle_(h) {}
  Unique(Unique&& other) noexcept : handle_(std::exchange(other.handle_, Traits::null())) {}
  Unique& operator=(Unique other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Unique() {
    if (handle_ != Traits::null()) Traits::free(&handle_);
  }
  Handle get() const noexcept { return handle_; }

 private:
  Handle handle_;
};

/// Freeing a communicator is collective: rooms are emptied in the same order on every rank.
struct CommTraits {
  using Handle = MPI_Comm;
  static Handle null() { return MPI_COMM_NULL; }
  static void free(Handle* h) {
    if (!mpi_is_over()) PMPI_Comm_free(h);
  }
};
using Comm = Unique<CommTraits>;

struct InfoTraits {
  using Handle = MPI_Info;
  static Handle null() { return MPI_INFO_NULL; }
  static void free(Handle* h) {
    if (!mpi_is_over()) PMPI_Info_free(h);
  }
};
using Info = Unique<InfoTraits>;

struct DatatypeTraits {
  using Handle = MPI_Datatype;
  static Handle null() { return MPI_DATATYPE_NULL; }
  static void free(Handle* h) {
    if (!mpi_is_over()) PMPI_Type_free(h);
  }
};
using Datatype = Unique<DatatypeTraits>;

}  // namespace choir
