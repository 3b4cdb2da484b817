#include "plan/plugin.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace choir {
namespace {

using LayoutFunction = std::uint64_t (*)();
using AddFunction = void (*)(StrategyTable&);

/// Why this library cannot be used; empty if it can.
std::string objection(void* library) {
  auto* layout = reinterpret_cast<LayoutFunction>(dlsym(library, "choir_plugin_layout"));
  if (layout == nullptr || dlsym(library, "choir_add_strategies") == nullptr)
    return " is not a plug-in of choir: CHOIR_STRATEGIES is not used in it";
  if (layout() != plugin_layout()) return " was built for another version of choir: build it again";
  return {};
}

}  // namespace

void load_plugin(StrategyTable& table, const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  if (const auto reason = objection(library); !reason.empty()) {
    dlclose(library);
    throw std::runtime_error(path + reason);
  }
  // Stays loaded: the table now points into it.
  const auto before = table.rows().size();
  reinterpret_cast<AddFunction>(dlsym(library, "choir_add_strategies"))(table);
  table.note_library(before, path);
}

}  // namespace choir
