// trees.hpp: the choir libraries this command can preload, one per MPI.
//
// A library belongs to the MPI it is itself linked with; that name is read from its header, so that
// a program and its preload can never disagree.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libraries.hpp"

namespace choir::command {

struct Tree {
  std::string mpi;                ///< "mpich", "openmpi", "mpi-abi"
  std::filesystem::path library;  ///< libchoir_mpiio.so
  std::filesystem::path tools;    ///< folder of the tools that need this MPI
  std::string mpi_library;        ///< as the loader names it: "libmpich.so.12"
};

/// Folder of the running `choir`.
std::filesystem::path own_folder();

/// Those found: of the own build tree and its neighbours, or of the installation. The own MPI comes
/// first.
std::vector<Tree> find_trees();
const Tree* tree_of(const std::vector<Tree>& trees, const std::string& mpi);

/// The same tree with the library for programs whose MPI library goes by another name but has the
/// same ABI (libmpi.so.12 is what Intel MPI, MVAPICH and MPICH itself call what Debian calls
/// libmpich.so.12). Nothing if there is none.
std::optional<Tree> twin_of(const Tree& tree);

/// "mpich" or "openmpi" if this process was started by that MPI's launcher; nothing under srun or
/// without launcher.
std::optional<std::string> launcher_mpi();
/// Rank in the job, as the launcher tells it; 0 without a launcher.
int launcher_rank();

}  // namespace choir::command
