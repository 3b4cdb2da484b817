#include "mpi/host_progress.hpp"

#include "mpi/real.hpp"

namespace choir {

#if defined(OMPI_MAJOR_VERSION)

namespace {

using Callback = int (*)();
using Registration = int (*)(Callback);

Registration registration(const char* name) {
  return reinterpret_cast<Registration>(optional_symbol(name));
}

}  // namespace

bool join_host_progress(int (*advance)()) {
  static const Registration join = registration("opal_progress_register");
  static const Registration leave = registration("opal_progress_unregister");
  return join != nullptr && leave != nullptr && join(advance) == 0;
}

void leave_host_progress(int (*advance)()) {
  if (const auto leave = registration("opal_progress_unregister")) leave(advance);
}

#else

bool join_host_progress(int (*)()) { return false; }
void leave_host_progress(int (*)()) {}

#endif

}  // namespace choir
