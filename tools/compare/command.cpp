#include "command.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace choir::compare {
namespace {

constexpr std::array launchers{"mpiexec", "mpirun", "orterun", "prterun", "prun",
                               "srun",    "aprun",  "jsrun",   "ibrun",   "flux"};

std::string file_name(const std::string& word) { return word.substr(word.find_last_of('/') + 1); }

/// "mpiexec.mpich", "mpirun" and "/opt/mpi/bin/mpiexec.hydra" are launchers.
bool is_launcher(const std::string& word) {
  const auto name = file_name(word);
  const auto stem = name.substr(0, name.find('.'));
  return std::find(launchers.begin(), launchers.end(), stem) != launchers.end();
}

/// A plain name behind an option is the option's value: `--map-by node`, though there is a program
/// called node.
bool may_be_program(const Words& command, std::size_t at) {
  if (command[at].empty() || command[at].front() == '-') return false;
  const bool behind_option = at > 0 && command[at - 1].starts_with("-");
  return !behind_option || command[at].find('/') != std::string::npos;
}

/// Index of the `choir` of a `choir run`; the number of words if there is none.
std::size_t find_choir_run(const Words& command) {
  for (std::size_t i = 0; i + 1 < command.size(); ++i)
    if (file_name(command[i]) == "choir" && command[i + 1] == "run") return i;
  return command.size();
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

Words replaced(const Words& command, const Words& inserted) {
  Words all;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const bool here =
        i + 1 < command.size() && file_name(command[i]) == "choir" && command[i + 1] == "run";
    if (!here) {
      all.push_back(command[i]);
      continue;
    }
    append(all, inserted);
    ++i;
  }
  return all;
}

}  // namespace

Words with_inserted(const Words& command, const Words& inserted,
                    const std::function<bool(const std::string&)>& is_program) {
  if (command.empty()) throw std::invalid_argument("there is no command to run");
  if (find_choir_run(command) < command.size()) return replaced(command, inserted);
  Words all;
  bool wanted = true;  // the next program gets choir in front of it
  std::size_t begin = 0;
  if (is_launcher(command.front())) {
    all.push_back(command.front());
    begin = 1;
  }
  bool found = false;
  for (std::size_t i = begin; i < command.size(); ++i) {
    const bool first_of_all = i == 0;
    if (wanted && (first_of_all || (may_be_program(command, i) && is_program(command[i])))) {
      append(all, inserted);
      wanted = false;
      found = true;
    }
    if (command[i] == ":" && begin == 1) wanted = true;
    all.push_back(command[i]);
  }
  if (!found)
    throw std::invalid_argument("no program was found behind " + command.front() +
                                "; write `choir run` in front of yours");
  return all;
}

Words with_folder(Words command, const std::string& folder) {
  for (auto& word : command)
    for (auto at = word.find("{}"); at != std::string::npos;
         at = word.find("{}", at + folder.size()))
      word.replace(at, 2, folder);
  return command;
}

bool names_folder(const Words& command) {
  return std::any_of(command.begin(), command.end(),
                     [](const std::string& word) { return word.find("{}") != std::string::npos; });
}

std::string typed(const Words& command) {
  std::string text;
  for (const auto& word : command) {
    const bool plain = !word.empty() && word.find_first_of(" \t\"'$;&|<>*?") == std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return text;
}

}  // namespace choir::compare
