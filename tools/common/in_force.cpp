#include "in_force.hpp"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "plan/plugin.hpp"

namespace choir::tools {
namespace {

std::string value_or(const std::map<std::string, std::string>& fields, const char* key,
                     const char* fallback) {
  const auto found = fields.find(key);
  return found == fields.end() ? fallback : found->second;
}

void add_configured(StrategyTable& table, const Settings& settings,
                    std::vector<std::string>& warnings) {
  for (const auto& [name, fields] : settings.custom) {
    try {
      const auto node_first = value_or(fields, "node_first", "0");
      table.add(
          strategy_from(name, "from the configuration",
                        parse_recipe(value_or(fields, "partition", "even"),
                                     value_or(fields, "aggregators", "per_node"),
                                     value_or(fields, "cycles", "by_offset"),
                                     value_or(fields, "requests", "list"), node_first == "1")));
    } catch (const std::exception& e) {
      warnings.push_back(fmt::format("[strategy.{}]: {}", name, e.what()));
    }
  }
}

void add_plugins(StrategyTable& table, const Settings& settings,
                 std::vector<std::string>& warnings) {
  std::istringstream list(settings.plugins);
  for (std::string path; std::getline(list, path, ',');) {
    if (path.empty()) continue;
    try {
      load_plugin(table, path);
    } catch (const std::exception& e) {
      warnings.push_back(fmt::format("plug-in {}: {}", path, e.what()));
    }
  }
}

}  // namespace

Settings settings_in_force(std::vector<std::string>& warnings) {
  Settings settings;
  const auto entries = read_entries(warnings);
  for (auto& warning : apply_entries(settings, entries)) warnings.push_back(std::move(warning));
  return settings;
}

StrategyTable strategies_in_force(const Settings& settings, std::vector<std::string>& warnings) {
  StrategyTable table;
  add_plugins(table, settings, warnings);
  add_configured(table, settings, warnings);
  return table;
}

}  // namespace choir::tools
