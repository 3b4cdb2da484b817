// choir: runs programs under choir, says what is in force, and starts choir's tools.
//
// Exit status: the program's or tool's own; 2 for a mistake on the command line.
#include <fmt/format.h>

#include <algorithm>
#include <choir_version.hpp>
#include <exception>
#include <map>

#include "commands.hpp"

namespace {

using namespace choir::command;

/// What is said of a tool in the list of commands; tools without a line are listed by name.
std::string summary_of(const std::string& tool) {
  static const std::map<std::string, std::string> summaries{
      {"assign", "assign files to processes for calls over many files"},
      {"bench", "compare strategies on the patterns of real programs"},
      {"compare", "is a program faster under choir, and are its bytes the same"},
      {"explain", "what a trace says, in the terminal"},
      {"iobench", "measure what the storage can do"},
      {"measure", "what moving bytes costs on this kind of node"},
      {"memory", "what earlier runs found fastest"},
      {"model", "predict strategies for machines you do not have"},
      {"netbench", "measure what the network can do"},
      {"place", "place ranks where the exchange of data is cheap"},
      {"report", "what a trace says, as a page for the browser"}};
  const auto found = summaries.find(tool);
  return found == summaries.end() ? "" : found->second;
}

int help() {
  fmt::print(
      "choir {}: fast collective file I/O for unmodified MPI programs\n\n"
      "  mpiexec -n 64 choir run ./app\n\n"
      "Usage: choir COMMAND [OPTIONS]\n\nCommands:\n"
      "  {:<10} run an MPI program with choir in front of its MPI-IO\n"
      "  {:<10} version, MPIs, backends, strategies, settings in force\n",
      CHOIR_VERSION, "run", "info");
  for (const auto& tool : tool_names()) fmt::print("  {:<10} {}\n", tool, summary_of(tool));
  fmt::print("\nchoir COMMAND --help says more. Manual: choir(1), choir.toml(5).\n");
  return 0;
}

int dispatch(const Arguments& all) {
  if (all.empty()) {
    help();
    return 2;
  }
  const auto& name = all.front();
  const Arguments rest(all.begin() + 1, all.end());
  if (name == "--help" || name == "-h" || name == "help") return help();
  if (name == "--version" || name == "-V") {
    fmt::print("choir {}\n", CHOIR_VERSION);
    return 0;
  }
  if (name == "run") return run(rest);
  if (name == "info") return info(rest);
  if (name.front() == '-')
    throw UsageError(fmt::format("there is no option {}; see choir --help", name));
  return run_tool(name, rest);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(Arguments(argv + std::min(argc, 1), argv + argc));
  } catch (const std::exception& e) {
    fmt::print(stderr, "choir: {}\n", e.what());
    return 2;
  }
}
