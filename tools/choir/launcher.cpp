#include "launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "program.hpp"

namespace choir::command {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::array launchers{"mpiexec", "mpirun", "orterun", "prterun", "prun",
                               "srun",    "aprun",  "jsrun",   "ibrun",   "lrun"};

/// "mpiexec.hydra" and "mpirun.openmpi" are launchers too.
bool is_launcher(const std::string& path) {
  const auto name = fs::path(path).filename().string();
  const auto stem = name.substr(0, name.find('.'));
  return std::any_of(launchers.begin(), launchers.end(),
                     [&](const char* one) { return stem == one; });
}

/// The first word that can only be the program: a file that can be executed, and not the value of
/// an option unless its name has a folder.
Words::const_iterator program_in(const Words& words) {
  for (auto word = words.begin() + 1; word < words.end(); ++word) {
    if (word->empty() || word->front() == '-') continue;
    std::error_code error;
    if (access(word->c_str(), X_OK) != 0 || fs::is_directory(*word, error)) continue;
    if (word->find('/') != std::string::npos) return word;
  }
  return words.end();
}

std::string joined(Words::const_iterator begin, Words::const_iterator end) {
  return fmt::format("{}", fmt::join(begin, end, " "));
}

}  // namespace

void refuse_launcher(const Words& program, const Words& options_of_run) {
  if (!is_launcher(program.front())) return;
  const auto app = program_in(program);
  const auto run = options_of_run.empty()
                       ? "choir run"
                       : "choir run " + joined(options_of_run.begin(), options_of_run.end());
  const auto turned =
      app == program.end()
          ? fmt::format("{} OPTIONS {} PROGRAM", program.front(), run)
          : fmt::format("{} {} {}", joined(program.begin(), app), run, joined(app, program.end()));
  throw UsageError(fmt::format("{} starts the processes, and choir stands in front of each: {}",
                               program.front(), turned));
}

}  // namespace choir::command
