#include "mpi/real.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

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

void* real_symbol(const char* name) {
  if (void* found = optional_symbol(name)) return found;
  std::fprintf(
      stderr,
      "choir: the MPI library has no %s; is another MPI loaded than the one choir was built for?\n",
      name);
  std::abort();
}

}  // namespace choir
