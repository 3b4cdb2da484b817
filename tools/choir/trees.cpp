#include "trees.hpp"

#include <array>
#include <choir_version.hpp>
#include <cstdlib>
#include <stdexcept>

#include "family.hpp"

namespace choir::command {
namespace {

namespace fs = std::filesystem;

/// A library of ours for the MPI standard's own ABI would be the third.
constexpr std::array known_mpis{"mpich", "openmpi", "mpi-abi"};

/// Nothing if there is no usable library at that place.
std::optional<Tree> look_at(const std::string& mpi, const fs::path& library,
                            const fs::path& tools) {
  std::error_code error;
  if (!fs::exists(library, error)) return std::nullopt;
  Tree tree{mpi, fs::canonical(library, error), fs::weakly_canonical(tools, error), ""};
  try {
    const auto elf = read_elf(tree.library.string());
    if (!elf || elf->foreign) return std::nullopt;
    for (const auto& name : elf->needed)
      if (is_mpi_library(name)) tree.mpi_library = name;
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
  return tree;
}

std::optional<Tree> find_tree(const std::string& mpi) {
  const auto here = own_folder();
  const auto library = fs::path("lib") / "libchoir_mpiio.so";
  if (mpi == CHOIR_MPI_NAME)
    if (auto own = look_at(mpi, here.parent_path() / library, here)) return own;
  const auto installed = here / CHOIR_LIBRARIES_FROM_BIN / mpi;
  if (auto tree = look_at(mpi, installed / "libchoir_mpiio.so", installed / "bin")) return tree;
  const auto sibling = here.parent_path().parent_path() / mpi;
  return look_at(mpi, sibling / library, sibling / "bin");
}

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace

fs::path own_folder() {
  std::error_code error;
  const auto self = fs::read_symlink("/proc/self/exe", error);
  if (error) throw std::runtime_error("cannot find out where choir itself is: " + error.message());
  return self.parent_path();
}

std::vector<Tree> find_trees() {
  std::vector<Tree> trees;
  for (const std::string mpi : known_mpis)
    if (auto tree = find_tree(mpi))
      trees.insert(mpi == CHOIR_MPI_NAME ? trees.begin() : trees.end(), *tree);
  return trees;
}

const Tree* tree_of(const std::vector<Tree>& trees, const std::string& mpi) {
  for (const auto& tree : trees)
    if (tree.mpi == mpi) return &tree;
  return nullptr;
}

std::optional<Tree> twin_of(const Tree& tree) {
  return look_at(tree.mpi, tree.library.parent_path() / "abi" / tree.library.filename(),
                 tree.tools);
}

std::optional<std::string> launcher_mpi() {
  if (is_set("OMPI_COMM_WORLD_SIZE")) return "openmpi";
  if (is_set("HYDI_CONTROL_FD") || is_set("HYDRA_PROXY_ID")) return "mpich";
  // Slurm speaks PMI to every MPI, so PMI alone says something only elsewhere.
  if (!is_set("SLURM_PROCID") && (is_set("PMI_RANK") || is_set("PMI_FD"))) return "mpich";
  return std::nullopt;
}

int launcher_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  return 0;
}

}  // namespace choir::command
