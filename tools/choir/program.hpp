// program.hpp: what the user asked to run: found in PATH, followed through #! lines, looked into.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "libraries.hpp"

namespace choir::command {

/// A mistake of the user's, as a sentence; `choir` exits with 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Program {
  std::string path;    ///< what is executed
  std::string binary;  ///< the ELF file behind it: itself, or the interpreter of a script
  bool starts_others =
      false;  ///< an interpreter, shell or wrapper: what it loads later cannot be seen here
  Libraries libraries;
};

/// Throws UsageError if the program cannot be found or executed, or is of a kind that cannot be
/// preloaded.
Program examine_program(const std::string& name);

/// The shared object of mpi4py that this Python would import; empty if there is none.
std::string mpi4py_of(const std::string& python);

}  // namespace choir::command
