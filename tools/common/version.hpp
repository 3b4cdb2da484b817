// version.hpp: every tool says its version in the same words.
#pragma once

#include <CLI/CLI.hpp>
#include <choir_version.hpp>

namespace choir::tools {

/// `--version` prints what the tool is called and the version, and is shown by --help.
inline void add_version(CLI::App& app) {
  app.set_version_flag("--version", app.get_name() + " " + CHOIR_VERSION, "print the version");
  app.set_help_flag("-h,--help", "print this help");
}

}  // namespace choir::tools
