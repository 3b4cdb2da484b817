// strategies.hpp: the strategies that settings make and name, the same for programs and for tools.
//
// Pure, but for plug-ins, which are loaded into the process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/strategy.hpp"
#include "settings/settings.hpp"

namespace choir {

/// Rows of the table.
struct NamedStrategies {
  std::optional<int> read, write;  ///< the user's; nothing: auto
  std::vector<int> candidates;     ///< of auto, never empty
};

/// Adds the settings' own strategies and those of plug-ins to the table, and looks up the names. A
/// name that is no strategy is one warning, and leaves the settings.
NamedStrategies name_strategies(Settings& settings, StrategyTable& table,
                                std::vector<std::string>& warnings);

/// Only the settings' own strategies: nothing is loaded, and names are not looked up.
void add_configured_strategies(const Settings& settings, StrategyTable& table,
                               std::vector<std::string>& warnings);

}  // namespace choir
