// loading.cpp: see loading.hpp.
#include "loading.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "contender.hpp"

namespace choir::bench {

namespace {

bool has_argument(int argc, char** argv, const char* wanted) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], wanted) == 0) return true;
  return false;
}

/// The front door that belongs to this program: in a build tree lib/ beside bin/, installed one
/// folder above. Empty if there is none.
std::filesystem::path own_front_door(const std::filesystem::path& program) {
  const auto above = program.parent_path().parent_path();
  std::error_code error;
  for (const auto& folder : {above / "lib", above})
    if (auto library = folder / "libchoir_mpiio.so"; std::filesystem::exists(library, error))
      return library;
  return {};
}

}  // namespace

void load_choir(int argc, char** argv) {
  if (!choir_library().empty() || has_argument(argc, argv, "--plain") ||
      std::getenv("BENCH_LOADED_CHOIR") != nullptr)
    return;
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  const auto library = own_front_door(here);
  if (library.empty()) return;
  const char* before = std::getenv("LD_PRELOAD");
  const auto preload =
      library.string() + (before != nullptr && *before != '\0' ? ":" + std::string(before) : "");
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv("BENCH_LOADED_CHOIR", "1", 1);  // a library that does not load must not start us for ever
  execv(here.c_str(), argv);
}

}  // namespace choir::bench
