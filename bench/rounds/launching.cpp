#include "launching.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "choir_version.hpp"

namespace choir::rounds {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A launch that takes longer hangs: the longest take some seconds.
constexpr const char* kLimitSeconds = "120";
/// Enough to see what is done once it is known, and few enough to stay in memory.
constexpr int kLargeFiles = 6;

using Words = std::vector<std::string>;

/// Where every rank has a core of its own Open MPI binds it there, as its users do; else
/// scripts/mpi-launch knows what it needs.
Words launcher(const Place& place, const Launch& launch) {
  const bool cores_enough = launch.ranks <= sysconf(_SC_NPROCESSORS_ONLN);
  const auto ranks = std::to_string(launch.ranks);
  if (launch.mpi == "openmpi" && cores_enough)
    return {"mpirun.openmpi", "--bind-to", "core", "-n", ranks};
  return {place.root + "/scripts/mpi-launch", launch.mpi, ranks};
}

std::string joined(const Words& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

Words measured_modes(const Launch& launch, const Pattern& pattern) {
  if (pattern.large) return {"files"};
  if (launch.is_fixed() || launch.mode == "joint") return {"files", "calls", "rewritten", "read"};
  return {launch.mode};
}

Words command_of(const Place& place, const Launch& launch, const Words& contenders,
                 const std::string& result) {
  const auto* pattern = find_pattern(launch.pattern);
  if (pattern == nullptr) throw std::runtime_error("there is no pattern " + launch.pattern);
  Words words{"timeout", kLimitSeconds};
  const auto add = [&](const Words& more) { words.insert(words.end(), more.begin(), more.end()); };
  add(launcher(place, launch));
  add({fmt::format("{}/build/{}/bin/choir-bench", place.root, launch.mpi), pattern->workload});
  add(pattern->arguments);
  add({"--bytes-per-rank", std::to_string(pattern->bytes_per_rank)});
  add({"--whole", joined(measured_modes(launch, *pattern)), "--contenders", joined(contenders)});
  if (pattern->large) add({"--files", std::to_string(kLargeFiles)});
  add({"--turn", std::to_string(launch.round + launch.run), "--sync", "--dir", place.directory,
       "--json", result});
  return words;
}

/// What the tester has set must not decide.
void clean_environment(const std::string& memory) {
  for (const char* variable : {"LD_PRELOAD", "CHOIR_STRATEGY", "CHOIR_CONFIG", "CHOIR_TRACE",
                               "CHOIR_STATS", "BENCH_LOADED_CHOIR"})
    unsetenv(variable);
  setenv("CHOIR_MEMORY", memory.c_str(), 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
}

[[noreturn]] void become(const Words& words, const Place& place, const std::string& memory,
                         const std::string& said) {
  clean_environment(memory);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (in >= 0 && out >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0 &&
      chdir(place.directory.c_str()) == 0) {
    std::vector<char*> raw;
    for (const auto& word : words) raw.push_back(const_cast<char*>(word.c_str()));
    raw.push_back(nullptr);
    execvp(raw.front(), raw.data());
  }
  dprintf(2, "cannot run %s: %s\n", words.front().c_str(), std::strerror(errno));
  _exit(127);
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Writes the same 256 MiB again and again through to the disk, and all pages of as much memory.
[[noreturn]] void disturb(const std::string& path) {
  constexpr std::size_t kBytes = 256 << 20, kRequest = 1 << 20;
  std::vector<char> memory(kBytes);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  for (char round = 1; file >= 0; ++round) {
    std::memset(memory.data(), round, kBytes);
    bool good = true;
    for (std::size_t at = 0; at < kBytes && good; at += kRequest)
      good = pwrite(file, memory.data() + at, kRequest, static_cast<off_t>(at)) > 0;
    if (!good || fdatasync(file) != 0) break;
  }
  _exit(1);
}

}  // namespace

bool is_built(const Place& place, const std::string& mpi) {
  return access(fmt::format("{}/build/{}/bin/choir-bench", place.root, mpi).c_str(), X_OK) == 0;
}

json carry_out(const Place& place, const Launch& launch, const std::vector<std::string>& contenders,
               const std::string& memory) {
  const auto result = place.directory + "/result.json", said = place.directory + "/said";
  fs::remove(result);
  const auto words = command_of(place, launch, contenders, result);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) become(words, place, memory, said);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::runtime_error(fmt::format("waitpid: {}", std::strerror(errno)));
  if (status != 0)
    throw std::runtime_error(
        fmt::format("{} failed (status {:#x}):\n{}", launch.key(), status, contents(said)));
  return json::parse(contents(result));
}

Disturbance::Disturbance(const std::string& directory)
    : process_(fork()), file_(directory + "/disturbance.dat") {
  if (process_ < 0) throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    disturb(file_);
  }
}

Disturbance::~Disturbance() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  unlink(file_.c_str());
}

json this_machine() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  std::ifstream in("/proc/cpuinfo");
  std::string model;
  for (std::string line; std::getline(in, line) && model.empty();)
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  return {{"host", host},
          {"cpu", model},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"choir", CHOIR_VERSION}};
}

}  // namespace choir::rounds
