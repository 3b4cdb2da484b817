// plugin.hpp: strategies from shared objects: what one exports, and how it is loaded.
#pragma once

#include <cstdint>
#include <string>

#include "plan/strategy.hpp"

namespace choir {

/// What choir and a plug-in must agree on: types that both lay out and pass to each other. A
/// plug-in built for another choir has another number, and is refused instead of crashing the
/// program.
constexpr std::uint64_t plugin_layout() {
  std::uint64_t layout = 1;  // to be raised when a field changes its meaning but not its size
  for (const auto size : {sizeof(Plan), sizeof(Aggregator), sizeof(PlanInput), sizeof(RankSummary),
                          sizeof(Parameters), sizeof(Situation), sizeof(Strategy)})
    layout = layout * 1009 + size;
  return layout;
}

/// Defines what a plug-in exports: CHOIR_STRATEGIES(table) { table.add(...); }
#define CHOIR_STRATEGIES(table)                                                           \
  extern "C" __attribute__((visibility("default"))) std::uint64_t choir_plugin_layout() { \
    return choir::plugin_layout();                                                        \
  }                                                                                       \
  extern "C" __attribute__((visibility("default"))) void choir_add_strategies(            \
      choir::StrategyTable& table)

/// Loads a plug-in; throws std::runtime_error with the reason if it cannot.
void load_plugin(StrategyTable& table, const std::string& path);

}  // namespace choir
