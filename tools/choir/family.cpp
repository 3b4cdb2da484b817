#include "family.hpp"

#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace choir::command {
namespace {

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

/// The name that the MPICH ABI initiative has agreed on. Open MPI 1.10 had it too.
constexpr const char* shared_name = "libmpi.so.12";

// What MPI_Get_library_version of each says; the texts are in the library.
constexpr std::array<std::pair<std::string_view, const char*>, 6> versions{{
    {"Open MPI v", "Open MPI 1"},
    {"Intel(R) MPI Library", "Intel MPI"},
    {"MVAPICH", "MVAPICH"},
    {"ParaStation MPI", "ParaStation MPI"},
    {"CRAY MPICH version", "Cray MPICH"},
    {"MPICH Version:", "MPICH"},
}};

/// Which MPI of the shared name this is; empty if it does not say.
std::string called_by_itself(const std::string& path) {
  try {
    for (const auto& [text, called] : versions)
      if (file_contains(path, text)) return called;
  } catch (const std::runtime_error&) {
    return {};
  }
  return {};
}

std::string called_by_name(const std::string& library, const std::string& path) {
  for (const auto& [mark, name] :
       {std::pair{"intel", "Intel MPI"}, std::pair{"mvapich", "MVAPICH"},
        std::pair{"cray", "Cray MPICH"}, std::pair{"spectrum", "IBM Spectrum MPI"}})
    if (path.find(mark) != std::string::npos || library.find(mark) != std::string::npos)
      return name;
  if (starts_with(library, "libmpi_gnu") || starts_with(library, "libmpi_amd") ||
      starts_with(library, "libmpi_nvidia"))
    return "Cray MPICH";
  if (starts_with(library, "libmpi_ibm")) return "IBM Spectrum MPI";
  if (starts_with(library, "libmpi_abi")) return "the MPI standard's own ABI";
  if (starts_with(library, "libmpi_mt") || starts_with(library, "libmpt")) return "HPE MPT";
  if (starts_with(library, "libmpich")) return "MPICH";
  if (library == "libmpi.so.40") return "Open MPI 4 or 5";
  if (starts_with(library, "libmpi.so.")) return "Open MPI of another version";
  return "an unknown MPI";
}

MpiLibrary library_of(const std::string& name, const std::string& path) {
  if (name == shared_name) {
    const auto called = called_by_itself(path);
    if (called.empty()) return {name, "", "an MPI that does not say which it is"};
    return {name, called == "Open MPI 1" ? "" : "mpich", called};
  }
  const char* mpi = starts_with(name, "libmpich.so")     ? "mpich"
                    : starts_with(name, "libmpi_abi.so") ? "mpi-abi"
                    : name == "libmpi.so.40"             ? "openmpi"
                                                         : "";
  return {name, mpi, called_by_name(name, path)};
}

}  // namespace

bool is_mpi_library(const std::string& name) {
  for (const char* prefix :
       {"libmpi.so", "libmpich.so", "libmpi_abi.so", "libmpi_cray", "libmpi_gnu", "libmpi_intel",
        "libmpi_amd", "libmpi_nvidia", "libmpi_ibm.so", "libmpi_mt.so", "libmpt.so", "libmvapich"})
    if (starts_with(name, prefix)) return true;
  return false;
}

std::vector<MpiLibrary> mpi_libraries_in(const Libraries& libraries) {
  std::vector<MpiLibrary> found;
  for (const auto& [name, path] : libraries)
    if (is_mpi_library(name)) found.push_back(library_of(name, path));
  return found;
}

bool fits(const Tree& tree, const MpiLibrary& library) {
  if (tree.mpi_library != library.name) return false;
  return library.name != shared_name || library.mpi == tree.mpi;
}

}  // namespace choir::command
