#include "in_force.hpp"

#include "settings/strategies.hpp"

namespace choir::tools {

Settings settings_in_force(std::vector<std::string>& warnings) {
  Settings settings;
  const auto entries = read_entries(warnings);
  for (auto& warning : apply_entries(settings, entries)) warnings.push_back(std::move(warning));
  return settings;
}

StrategyTable strategies_in_force(Settings& settings, std::vector<std::string>& warnings) {
  StrategyTable table;
  name_strategies(settings, table, warnings);
  return table;
}

StrategyTable strategies_to_look_at(Settings& settings, std::vector<std::string>& warnings) {
  if (!plugins_of_folder(settings)) return strategies_in_force(settings, warnings);
  StrategyTable table;
  add_configured_strategies(settings, table, warnings);
  warnings.push_back(
      "the plug-ins that ./choir.toml names are not loaded here; programs load them");
  return table;
}

}  // namespace choir::tools
