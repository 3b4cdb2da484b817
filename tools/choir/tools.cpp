// tools.cpp: `choir NAME` is the program choir-NAME, of this folder or of the MPI that started us.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "commands.hpp"

namespace choir::command {
namespace {

namespace fs = std::filesystem;

/// Tools that use MPI exist once per MPI: the launcher's comes first.
std::vector<fs::path> tool_folders(const std::vector<Tree>& trees) {
  std::vector<fs::path> folders;
  if (const auto launcher = launcher_mpi())
    if (const Tree* tree = tree_of(trees, *launcher)) folders.push_back(tree->tools);
  folders.push_back(own_folder());
  for (const auto& tree : trees) folders.push_back(tree.tools);
  return folders;
}

const Tree* owner_of(const std::vector<Tree>& trees, const fs::path& folder) {
  for (const auto& tree : trees)
    if (tree.tools == folder) return &tree;
  return nullptr;
}

/// choir-bench compares with choir's strategies through the front door, as programs meet it.
bool wants_front_door(const std::string& name, const Arguments& arguments) {
  return name == "bench" && (arguments.empty() || arguments.front() != "compare") &&
         std::find(arguments.begin(), arguments.end(), "--plain") == arguments.end();
}

std::string unknown(const std::string& name) {
  std::string names = "run, info";
  for (const auto& tool : tool_names()) names += ", " + tool;
  const bool program = access(name.c_str(), X_OK) == 0;
  return fmt::format("there is no command '{}'; there are {}{}", name, names,
                     program ? fmt::format(". Did you mean choir run {}?", name) : "");
}

}  // namespace

std::vector<std::string> tool_names() {
  const std::string prefix = "choir-";
  std::set<std::string> names;
  for (const auto& folder : tool_folders(find_trees())) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const auto name = entry.path().filename().string();
      const auto tool = name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : "";
      // choir-bench-compare is reached as `choir bench compare`.
      if (!tool.empty() && tool.find('-') == std::string::npos &&
          access(entry.path().c_str(), X_OK) == 0)
        names.insert(tool);
    }
  }
  return {names.begin(), names.end()};
}

int run_tool(const std::string& name, const Arguments& arguments) {
  const auto trees = find_trees();
  for (const auto& folder : tool_folders(trees)) {
    const auto path = folder / ("choir-" + name);
    if (name.find('/') != std::string::npos || access(path.c_str(), X_OK) != 0) continue;
    const Tree* tree = owner_of(trees, folder);
    if (tree != nullptr && wants_front_door(name, arguments)) preload(tree->library);
    execute(path.string(), path.string(), arguments);
  }
  throw UsageError(unknown(name));
}

}  // namespace choir::command
