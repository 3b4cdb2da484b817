// in_force.hpp: the settings and strategies that a program started here would meet.
//
// Local; without MPI. In a job rank 0's answer counts, since the runtime reads the configuration
// there.
#pragma once

#include <string>
#include <vector>

#include "plan/strategy.hpp"
#include "settings/settings.hpp"

namespace choir::tools {

/// The settings a program started here would have, before its hints; what is wrong with them in
/// `warnings`.
Settings settings_in_force(std::vector<std::string>& warnings);
/// The table with what the configuration and its plug-ins add. Names that are no strategy leave the
/// settings.
StrategyTable strategies_in_force(Settings& settings, std::vector<std::string>& warnings);
/// The same for somebody who only looks: code that ./choir.toml names is not loaded, and then names
/// are not looked up.
StrategyTable strategies_to_look_at(Settings& settings, std::vector<std::string>& warnings);

}  // namespace choir::tools
