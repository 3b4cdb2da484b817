// choir-memory: shows and forgets what earlier runs found out about strategies.
//
// The file is the one that jobs started here would use, unless --file names another. PATTERN is a
// shell pattern (*, ?, [...]) compared with the class, the strategies, the mount, the host and the
// MPI of an entry; one that matches is enough.
#include <fmt/core.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/in_force.hpp"
#include "common/output.hpp"
#include "common/version.hpp"
#include "select/explain.hpp"
#include "select/store.hpp"

namespace {

using choir::select::Evidence;
using choir::select::Store;

bool matches(const Store::Key& entry, const Evidence& evidence, const std::string& pattern) {
  if (pattern.empty()) return true;
  const auto& [site, key] = entry;
  std::vector<std::string> fields{key.text(), site.host_kind, site.mount, site.mpi,
                                  evidence.serves};
  for (const auto& rival : evidence.rivals) fields.push_back(rival.name);
  return std::any_of(fields.begin(), fields.end(), [&](const std::string& field) {
    return ::fnmatch(pattern.c_str(), field.c_str(), 0) == 0;
  });
}

std::string date(std::int64_t unix_time) {
  const auto time = static_cast<std::time_t>(unix_time);
  std::tm parts{};
  char text[32];
  if (!::localtime_r(&time, &parts) || !std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts))
    return "unknown date";
  return text;
}

/// Throws where jobs remember nothing: there is no file to look at.
std::string path_in_force() {
  std::vector<std::string> warnings;
  const auto settings = choir::tools::settings_in_force(warnings);
  for (const auto& warning : warnings) fmt::print(stderr, "choir: warning: {}\n", warning);
  if (settings.memory == "off")
    throw std::runtime_error(
        fmt::format("the setting memory is off ({}), so jobs remember nothing; give --file",
                    settings.sources.at("memory")));
  auto path = choir::select::memory_path(settings.memory);
  if (path.empty()) throw std::runtime_error("neither XDG_CACHE_HOME nor HOME is set; give --file");
  return path;
}

void list(const std::string& path, const std::string& pattern) {
  std::string why;
  const auto store = choir::select::load_store(path, &why);
  if (!why.empty()) throw std::runtime_error(why);
  std::size_t shown = 0;
  for (const auto& [entry, evidence] : store.all()) {
    if (!matches(entry, evidence, pattern)) continue;
    const auto& [site, key] = entry;
    fmt::print("{}{}\n  {} ranks on {} nodes, {}, {}, {}; {}\n", shown++ == 0 ? "" : "\n",
               key.text(), site.ranks, site.nodes, site.mount, site.host_kind, site.mpi,
               date(evidence.date_s));
    for (const auto& line : choir::select::explain(evidence)) fmt::print("  {}\n", line);
  }
  if (shown == 0)
    fmt::print("nothing remembered{} in {}\n", pattern.empty() ? "" : " that matches", path);
}

void forget(const std::string& path, const std::string& pattern) {
  const auto result =
      choir::select::forget(path, [&](const Store::Key& entry, const Evidence& evidence) {
        return matches(entry, evidence, pattern);
      });
  if (result.error) throw std::runtime_error(*result.error);
  fmt::print("forgot {} {}\n", result.forgotten, result.forgotten == 1 ? "entry" : "entries");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What earlier runs found out about strategies, per class of calls", "choir memory"};
  choir::tools::add_version(app);
  app.require_subcommand(1);
  std::string path;
  std::string pattern;
  app.add_option("--file", path, "the memory file (default: as the setting memory says)");
  const auto subcommand = [&](const char* name, const char* help) {
    auto* command = app.add_subcommand(name, help);
    command->add_option("PATTERN", pattern,
                        "shell pattern for class, strategy, mount, host or MPI");
    command->fallthrough();
    return command;
  };
  const auto* list_command = subcommand("list", "show the entries");
  subcommand("forget", "remove the entries; all of them without PATTERN");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    if (path.empty()) path = path_in_force();
    if (list_command->parsed())
      list(path, pattern);
    else
      forget(path, pattern);
    choir::tools::finish_output();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "choir memory: {}\n", error.what());
    return 1;
  }
}
