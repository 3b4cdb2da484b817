#include "settings/strategies.hpp"

#include <exception>
#include <sstream>

#include "plan/plugin.hpp"
#include "plan/recipe.hpp"

namespace choir {
namespace {

using Fields = std::map<std::string, std::string>;

std::string value_or(const Fields& fields, const char* key, const char* fallback) {
  const auto found = fields.find(key);
  return found == fields.end() ? fallback : found->second;
}

Strategy configured(const std::string& name, const Fields& fields) {
  return strategy_from(
      name, "from the configuration",
      parse_recipe(value_or(fields, "partition", "even"),
                   value_or(fields, "aggregators", "per_node"),
                   value_or(fields, "cycles", "by_offset"), value_or(fields, "requests", "list"),
                   value_or(fields, "node_first", "0") == "1"));
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');)
    if (!word.empty()) words.push_back(word);
  return words;
}

/// The row that `key` names; nothing for auto. What does not exist becomes auto in the settings
/// too.
std::optional<int> row_named(const char* key, std::string& name, Settings& settings,
                             const StrategyTable& table, std::vector<std::string>& warnings) {
  if (name.empty() || name == "auto") return std::nullopt;
  const auto row = table.find(name);
  if (row) return row;
  warnings.push_back("strategy \"" + name +
                     "\": there is no such strategy (see choir info); using auto");
  name = "auto";
  settings.sources.erase(key);
  return std::nullopt;
}

std::vector<int> candidates_named(Settings& settings, const StrategyTable& table,
                                  std::vector<std::string>& warnings) {
  std::vector<int> rows;
  std::string known;
  for (const auto& name : split(settings.candidates)) {
    const auto row = table.find(name);
    if (row) {
      rows.push_back(*row);
      known += (known.empty() ? "" : ",") + name;
    } else {
      warnings.push_back("candidates: there is no strategy \"" + name + "\"");
    }
  }
  settings.candidates = known;
  if (rows.empty()) settings.sources.erase("candidates");
  for (std::size_t row = 0; known.empty() && row < table.rows().size(); ++row)
    rows.push_back(static_cast<int>(row));
  return rows;
}

}  // namespace

void add_configured_strategies(const Settings& settings, StrategyTable& table,
                               std::vector<std::string>& warnings) {
  for (const auto& [name, fields] : settings.custom) try {
      table.add(configured(name, fields));
    } catch (const std::exception& e) {
      warnings.push_back("[strategy." + name + "] is ignored: " + e.what());
    }
}

NamedStrategies name_strategies(Settings& settings, StrategyTable& table,
                                std::vector<std::string>& warnings) {
  add_configured_strategies(settings, table, warnings);
  for (const auto& path : split(settings.plugins)) try {
      load_plugin(table, path);
    } catch (const std::exception& e) {
      warnings.push_back(std::string("plug-in ignored: ") + e.what());
    }
  const auto row = [&](const char* key, std::string& name) {
    return row_named(key, name, settings, table, warnings);
  };
  NamedStrategies named;
  const auto both = row("strategy", settings.strategy);
  named.read = settings.read_strategy.empty() ? both : row("read_strategy", settings.read_strategy);
  named.write =
      settings.write_strategy.empty() ? both : row("write_strategy", settings.write_strategy);
  named.candidates = candidates_named(settings, table, warnings);
  return named;
}

}  // namespace choir
