// error.hpp: a failed MPI call throws inside choir; the C boundary turns it back into a code.
//
// Our own communicators and inner files carry MPI_ERRORS_RETURN, or this would never run.
#pragma once

#include <mpi.h>

#include <exception>

namespace choir {

struct MpiError : std::exception {
  explicit MpiError(int c) : code(c) {}
  int code;
};

inline void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError(code);
}

}  // namespace choir
