// sources.cpp: configuration files and the environment. The only place that knows TOML.
#include <unistd.h>

#include <cstring>
#include <toml.hpp>

#include "settings/settings.hpp"

namespace choir {
namespace {

std::string text_of(const toml::value& value) {
  if (value.is_string()) return value.as_string().str;
  if (value.is_boolean()) return value.as_boolean() ? "1" : "0";
  if (value.is_integer()) return std::to_string(value.as_integer());
  if (value.is_floating()) return std::to_string(value.as_floating());
  if (!value.is_array()) return "";
  std::string list;
  for (const auto& one : value.as_array()) list += (list.empty() ? "" : ",") + text_of(one);
  return list;
}

void flatten(const toml::value& table, const std::string& prefix, const std::string& source,
             Entries& entries) {
  for (const auto& [key, value] : table.as_table()) {
    // [strategy.NAME] tables and a `strategy = ` of its own exclude each other in TOML, so a file
    // can say strategy.use.
    if (prefix == "strategy." && key == "use")
      entries.push_back({"strategy", text_of(value), source});
    else if (value.is_table())
      flatten(value, prefix + key + ".", source, entries);
    else
      entries.push_back({prefix + key, text_of(value), source});
  }
}

void read_file(const std::string& path, bool must_exist, Entries& entries,
               std::vector<std::string>& warnings) {
  if (access(path.c_str(), F_OK) != 0) {
    if (must_exist)
      warnings.push_back("cannot read the configuration file " + path + ": " +
                         std::strerror(errno));
    return;
  }
  try {
    flatten(toml::parse(path), "", path, entries);
  } catch (const std::exception& e) {
    const std::string what = e.what();
    warnings.push_back("the configuration file " + path +
                       " is ignored: " + what.substr(0, what.find('\n')));
  }
}

/// Variables that are not settings of a file.
bool belongs_elsewhere(const std::string& key) {
  for (const char* name : {"config", "quiet", "prefix"})
    if (key == name) return true;
  return key.compare(0, 4, "lab_") == 0;  // the cluster lab's own
}

void read_environment(Entries& entries) {
  const std::string prefix = "CHOIR_";
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const auto equals = text.find('=');
    if (text.compare(0, prefix.size(), prefix) != 0 || equals == std::string::npos) continue;
    std::string key = text.substr(prefix.size(), equals - prefix.size());
    for (auto& c : key) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!belongs_elsewhere(key)) entries.push_back({key, text.substr(equals + 1), "environment"});
  }
}

}  // namespace

Entries read_entries(std::vector<std::string>& warnings) {
  Entries entries;
  read_file("/etc/choir.toml", false, entries, warnings);
  const char* given = std::getenv("CHOIR_CONFIG");
  read_file(given != nullptr ? given : "choir.toml", given != nullptr, entries, warnings);
  read_environment(entries);
  return entries;
}

}  // namespace choir
