// sources.cpp: configuration files and the environment. The only place that knows TOML.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <toml.hpp>

#include "settings/settings.hpp"

namespace choir {
namespace {

std::string text_of(const toml::value& value) {
  if (value.is_string()) return toml::get<std::string>(value);
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

/// A configuration, and not something that would keep the program waiting, or end it: the parser
/// calls itself for every bracket.
std::string text_in(const std::string& path) {
  constexpr std::size_t most_bytes = 1 << 20;
  constexpr int most_brackets = 100;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) throw std::runtime_error(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) throw std::runtime_error("it is no file");
  std::ifstream in(path, std::ios::binary);
  std::string text(most_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) throw std::runtime_error("it cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > most_bytes) throw std::runtime_error("it has more than 1 MiB");
  int open = 0;
  for (const char c : text) {
    open += (c == '[' || c == '{') ? 1 : (c == ']' || c == '}') ? -1 : 0;
    if (open > most_brackets) throw std::runtime_error("its brackets nest too deep");
  }
  return text;
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
    std::istringstream text(text_in(path));
    flatten(toml::parse(text, path), "", path, entries);
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
    // An empty variable is how shells and job scripts take a setting back.
    if (equals + 1 < text.size() && !belongs_elsewhere(key))
      entries.push_back({key, text.substr(equals + 1), "environment"});
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
