#include "program.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace choir::command {
namespace {

namespace fs = std::filesystem;

/// Programs that start others or load code by themselves: the MPI they will use is not in their own
/// header.
constexpr std::array interpreters{
    "python",   "perl",    "ruby",      "R",         "Rscript", "julia",      "lua",  "java",
    "octave",   "node",    "tclsh",     "sh",        "bash",    "dash",       "zsh",  "ksh",
    "fish",     "csh",     "tcsh",      "busybox",   "env",     "nice",       "time", "timeout",
    "taskset",  "numactl", "gdb",       "gdbserver", "strace",  "ltrace",     "perf", "stdbuf",
    "valgrind", "setarch", "catchsegv", "ionice",    "chrt",    "hwloc-bind", "xterm"};

/// "python3.11" -> "python": versions are not part of the name.
std::string family(const std::string& path) {
  auto name = fs::path(path).filename().string();
  const auto end = name.find_last_not_of("0123456789.-");
  return end == std::string::npos ? name : name.substr(0, end + 1);
}

bool starts_others(const std::string& path) {
  return std::any_of(interpreters.begin(), interpreters.end(),
                     [&](const char* one) { return family(path) == one; });
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_directory(path, error);
}

std::string find_in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    std::error_code error;
    if (fs::is_directory(name, error)) throw UsageError(name + " is a folder, not a program");
    if (!is_file(name)) throw UsageError(fmt::format("cannot find the program {}", name));
    return name;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  std::string refused;
  for (std::string folder; std::getline(folders, folder, ':');) {
    auto candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (!is_file(candidate)) continue;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    if (refused.empty()) refused = candidate;
  }
  if (!refused.empty()) return refused;  // the caller says why
  const bool here = is_file("./" + name);
  throw UsageError(fmt::format("cannot find the program {} in PATH{}", name,
                               here ? fmt::format("; did you mean ./{}?", name) : ""));
}

void must_be_executable(const std::string& path) {
  if (access(path.c_str(), X_OK) != 0)
    throw UsageError(fmt::format("{} is not executable: {}", path, std::strerror(errno)));
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0 &&
      (info.st_uid != geteuid() || (info.st_mode & S_ISGID) != 0))
    throw UsageError(
        path +
        " runs with other rights than yours (setuid or setgid), so the loader ignores preloaded "
        "libraries; choir cannot reach it");
}

/// The words of a script's first line, as the kernel splits them: the interpreter and at most one
/// argument.
std::vector<std::string> interpreter_line(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line(2, '\0');
  if (!in.read(line.data(), 2) || line != "#!") return {};
  std::getline(in, line);
  std::istringstream words(line);
  std::vector<std::string> split;
  for (std::string word; words >> word;) split.push_back(word);
  return split;
}

/// "/usr/bin/env [-S] [NAME=value] python3" runs python3 of PATH.
std::string resolve_interpreter(const std::vector<std::string>& words) {
  if (family(words.front()) != "env") return words.front();
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i][0] != '-' && words[i].find('=') == std::string::npos)
      return find_in_path(words[i]);
  return words.front();
}

/// The ELF file that the kernel ends up with. The kernel itself follows at most five #! lines.
std::string binary_behind(std::string path) {
  for (int depth = 0; depth < 6; ++depth) {
    const auto words = interpreter_line(path);
    if (words.empty()) return path;
    const auto next = resolve_interpreter(words);
    if (!is_file(next))
      throw UsageError(
          fmt::format("{} asks for the interpreter {}, which does not exist", path, next));
    path = next;
  }
  throw UsageError(fmt::format("{}: too many #! lines that point at each other", path));
}

}  // namespace

Program examine_program(const std::string& name) {
  Program program;
  program.path = find_in_path(name);
  must_be_executable(program.path);
  program.binary = binary_behind(program.path);
  const bool script = program.binary != program.path;
  if (script) must_be_executable(program.binary);
  std::optional<Elf> elf;
  try {
    elf = read_elf(program.binary);
  } catch (const std::runtime_error& e) {
    throw UsageError(e.what());
  }
  if (!elf)
    throw UsageError(
        fmt::format("{} is neither a program nor a script with a #! line", program.binary));
  if (elf->foreign)
    throw UsageError(fmt::format("{} is a program for another kind of machine", program.binary));
  if (!elf->has_interpreter)
    throw UsageError(
        fmt::format("{} is statically linked: no library can be put in front of its MPI; link it "
                    "dynamically to run it under choir",
                    program.binary));
  program.starts_others = script || starts_others(fs::canonical(program.binary).string()) ||
                          starts_others(program.binary);
  program.libraries = libraries_of(program.binary, *elf);
  return program;
}

namespace {

/// Folders in which a Python looks for packages, as far as they can be known without starting it.
std::vector<fs::path> package_folders(const std::string& python) {
  std::vector<fs::path> folders;
  if (const char* path = std::getenv("PYTHONPATH")) {
    std::istringstream list(path);
    for (std::string folder; std::getline(list, folder, ':');)
      if (!folder.empty()) folders.emplace_back(folder);
  }
  std::vector<fs::path> prefixes;
  std::error_code error;
  if (const char* environment = std::getenv("VIRTUAL_ENV")) prefixes.emplace_back(environment);
  prefixes.push_back(fs::absolute(python, error).parent_path().parent_path());
  prefixes.push_back(fs::canonical(python, error).parent_path().parent_path());
  if (const char* home = std::getenv("HOME")) prefixes.push_back(fs::path(home) / ".local");
  prefixes.emplace_back("/usr/local");
  for (const auto& prefix : prefixes)
    for (const auto& entry : fs::directory_iterator(prefix / "lib", error))
      if (entry.path().filename().string().rfind("python", 0) == 0)
        for (const char* packages : {"site-packages", "dist-packages"})
          folders.push_back(entry.path() / packages);
  return folders;
}

}  // namespace

std::string mpi4py_of(const std::string& python) {
  if (family(python) != "python") return {};
  for (const auto& folder : package_folders(python)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / "mpi4py", error)) {
      const auto name = entry.path().filename().string();
      if (name.rfind("MPI.", 0) == 0 && name.size() > 3 && name.substr(name.size() - 3) == ".so")
        return entry.path().string();
    }
  }
  return {};
}

}  // namespace choir::command
