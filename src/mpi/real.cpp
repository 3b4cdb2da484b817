#include "mpi/real.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

namespace choir {
namespace {

#if defined(OMPI_MAJOR_VERSION)
constexpr const char* library_name = "libmpi.so.40";
#else
constexpr const char* library_name = "libmpich.so.12";
#endif

}  // namespace

void* optional_symbol(const char* name) {
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  if (void* library = dlopen(library_name, RTLD_LAZY | RTLD_NOLOAD)) return dlsym(library, name);
  return nullptr;
}

namespace {

/// What was found, by name. Names are literals.
void* known_symbol(const char* name) {
  static std::mutex mutex;
  static auto* const known = new std::map<std::string_view, void*>;  // programs call MPI at exit
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = known->try_emplace(name, nullptr);
  if (is_new) place->second = optional_symbol(name);
  return place->second;
}

}  // namespace

void find_file_functions() {
  for (const char* name :
       {"PMPI_File_set_view", "PMPI_File_read_all", "PMPI_File_read_at_all", "PMPI_File_write_all",
        "PMPI_File_write_at_all", "PMPI_File_seek", "PMPI_File_get_position", "PMPI_File_set_size",
        "PMPI_File_sync", "PMPI_File_get_info", "PMPI_File_close"})
    known_symbol(name);
}

void* real_symbol(const char* name) {
  if (void* found = known_symbol(name)) return found;
  std::fprintf(
      stderr,
      "choir: the MPI library has no %s; is another MPI loaded than the one choir was built for?\n",
      name);
  std::abort();
}

}  // namespace choir
