// family.hpp: what tells one MPI from another, by looking at its library and without running it.
#pragma once

#include <string>
#include <vector>

#include "libraries.hpp"
#include "trees.hpp"

namespace choir::command {

/// An MPI library that a program loads.
struct MpiLibrary {
  std::string name;    ///< as the loader names it: "libmpi.so.12"
  std::string mpi;     ///< the tree that could serve it: "mpich"; empty: none that is known
  std::string called;  ///< what people call it: "Intel MPI"
};

bool is_mpi_library(const std::string& name);
std::vector<MpiLibrary> mpi_libraries_in(const Libraries& libraries);

/// Whether the tree's library works in a program with this one.
bool fits(const Tree& tree, const MpiLibrary& library);

}  // namespace choir::command
