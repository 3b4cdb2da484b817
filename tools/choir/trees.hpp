// trees.hpp: the choir libraries this command can preload, one per MPI, and what tells one MPI from
// another.
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
  std::string mpi;                ///< "mpich", "openmpi"
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

/// The MPI libraries among `libraries`, and what people call them: "Intel MPI".
std::vector<std::string> mpi_libraries_in(const Libraries& libraries);
std::string mpi_family(const std::string& library, const std::string& path);

/// "mpich" or "openmpi" if this process was started by that MPI's launcher; nothing under srun or
/// without launcher.
std::optional<std::string> launcher_mpi();
/// Rank in the job, as the launcher tells it; 0 without a launcher.
int launcher_rank();

}  // namespace choir::command
