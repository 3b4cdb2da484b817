#include "mpi/real.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace choir {
namespace {

#if defined(OMPI_MAJOR_VERSION)
constexpr std::array library_names{"libmpi.so.40"};
#else
constexpr std::array library_names{"libmpich.so.12", "libmpi.so.12"};  // Debian's, everybody's
#endif

}  // namespace

void* optional_symbol(const char* name) {
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  for (const char* library_name : library_names)
    if (void* library = dlopen(library_name, RTLD_LAZY | RTLD_NOLOAD)) return dlsym(library, name);
  return nullptr;
}

void* real_symbol(const char* name) {
  if (void* found = optional_symbol(name)) return found;
  std::fprintf(
      stderr,
      "choir: the MPI library has no %s; is another MPI loaded than the one choir was built for?\n",
      name);
  std::abort();
}

}  // namespace choir
