// sources.cpp: configuration files and the environment. The only place that knows TOML.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <toml.hpp>

#include "files/trust.hpp"
#include "files/utf8.hpp"
#include "settings/settings.hpp"

namespace choir {
namespace {

constexpr const char* folder_file = "choir.toml";

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

/// A file in the folder of the moment may be anybody's; the others are named by root or the user.
enum class Place { named, current_folder };

/// A link counts like what it leads to, if the user or root made it.
void must_be_trusted(const std::string& path, const struct stat& info) {
  struct stat entry {};
  if (lstat(path.c_str(), &entry) != 0) throw std::runtime_error(std::strerror(errno));
  for (const auto& one : {info, entry})
    if (const auto why = files::distrust(one); !why.empty()) throw std::runtime_error(why);
}

/// A configuration, and not something that would keep the program waiting, or end it: the parser
/// calls itself for every bracket.
std::string text_in(const std::string& path, Place place) {
  constexpr std::size_t most_bytes = 1 << 20;
  const files::Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0)
    throw std::runtime_error(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) throw std::runtime_error("it is no file");
  if (place == Place::current_folder) must_be_trusted(path, info);
  std::string text(most_bytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto n = ::read(file.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::runtime_error(std::strerror(errno));
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size > most_bytes) throw std::runtime_error("it has more than 1 MiB");
  text.resize(size);
  return text;
}

void must_be_shallow(const std::string& text) {
  constexpr int most_brackets = 100;
  int open = 0;
  for (const char c : text) {
    open += (c == '[' || c == '{') ? 1 : (c == ']' || c == '}') ? -1 : 0;
    if (open > most_brackets) throw std::runtime_error("its brackets nest too deep");
  }
}

void read_file(const std::string& path, Place place, bool must_exist, Entries& entries,
               std::vector<std::string>& warnings) {
  if (access(path.c_str(), F_OK) != 0) {
    if (must_exist)
      warnings.push_back("cannot read the configuration file " + path + ": " +
                         std::strerror(errno));
    return;
  }
  try {
    for (auto& entry : entries_of_text(text_in(path, place), path))
      entries.push_back(std::move(entry));
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

Entries entries_of_text(const std::string& text, const std::string& name) {
  // toml11 3 reads memory that is not its own when a text in single quotes is not UTF-8.
  if (!files::is_utf8(text)) throw std::runtime_error("it is not UTF-8");
  must_be_shallow(text);
  std::istringstream in(text);
  Entries entries;
  flatten(toml::parse(in, name), "", name, entries);
  return entries;
}

bool plugins_of_folder(const Settings& settings) {
  const auto source = settings.sources.find("plugins");
  return source != settings.sources.end() && source->second == folder_file &&
         std::getenv("CHOIR_CONFIG") == nullptr;
}

Entries read_entries(std::vector<std::string>& warnings) {
  Entries entries;
  read_file("/etc/choir.toml", Place::named, false, entries, warnings);
  if (const char* given = std::getenv("CHOIR_CONFIG"))
    read_file(given, Place::named, true, entries, warnings);
  else
    read_file(folder_file, Place::current_folder, false, entries, warnings);
  read_environment(entries);
  return entries;
}

}  // namespace choir
