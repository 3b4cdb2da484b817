#include <choir/choir.h>
#include <dlfcn.h>

#include <choir_version.hpp>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED const char* choir_version(void) { return CHOIR_VERSION; }

EXPORTED int choir_active(void) {
  return dlsym(RTLD_DEFAULT, "choir_front_door") != nullptr ? 1 : 0;
}
