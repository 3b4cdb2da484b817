// foreign_plugin.cpp: a plug-in as a choir with other types would have made it. It must never be
// entered.
#include <cstdint>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) std::uint64_t choir_plugin_layout() { return 42; }
extern "C" __attribute__((visibility("default"))) void choir_add_strategies(void*) { std::abort(); }
