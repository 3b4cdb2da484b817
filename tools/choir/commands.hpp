// commands.hpp: what `choir` itself can do. Each command returns the exit status and throws
// UsageError for a mistake of the user's.
#pragma once

#include <string>
#include <vector>

#include "program.hpp"
#include "trees.hpp"

namespace CLI {
class App;
}

namespace choir::command {

using Arguments = std::vector<std::string>;

/// `choir run ...`: on success the program takes this process's place.
int run(const Arguments& arguments);
/// `choir info ...`.
int info(const Arguments& arguments);
/// `choir NAME ...`: choir-NAME takes this process's place.
int run_tool(const std::string& name, const Arguments& arguments);
/// Names of the tools that can be run, sorted.
std::vector<std::string> tool_names();

/// Parses options; false if the user asked for help or the version, which is then printed.
bool parse_options(CLI::App& app, const Arguments& arguments);

/// Adds a library behind those that LD_PRELOAD already names.
void preload(const std::filesystem::path& library);
/// Takes this process's place; throws UsageError if that fails.
[[noreturn]] void execute(const std::string& path, const std::string& shown_name,
                          const Arguments& arguments);

}  // namespace choir::command
