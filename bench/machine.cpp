// machine.cpp: see machine.hpp.
#include "machine.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace choir::bench {

namespace {

/// The value after `key` and a colon in a file of such lines; empty if there is none.
std::string value_in(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

std::string file_system_name(const std::string& directory) {
  struct statfs info {};
  if (statfs(directory.c_str(), &info) != 0) return "unknown";
  switch (static_cast<unsigned long>(info.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x01021994:
      return "tmpfs";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x6969:
      return "nfs";
    case 0x0BD00BD0:
      return "lustre";
    case 0x47504653:
      return "gpfs";
    case 0x19830326:
      return "beegfs";
    case 0x00C36400:
      return "ceph";
    case 0x65735546:
      return "fuse";
    case 0x794c7630:
      return "overlayfs";
    default:
      return fmt::format("type {:#x}", static_cast<unsigned long>(info.f_type));
  }
}

std::string utc_now() {
  const auto now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// Processes that were running or ready in the last minute; -1 if unknown. Says whether the machine
/// was quiet.
double load_average() {
  double load = -1;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

bool is_terminal(const std::filesystem::path& descriptor) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(descriptor, error).string();
  return !error && (target.starts_with("/dev/pts/") || target.starts_with("/dev/tty"));
}

pid_t parent_of(pid_t process) {
  const auto text = value_in(fmt::format("/proc/{}/status", process), "PPid");
  return text.empty() ? 0 : std::atoi(text.c_str());
}

}  // namespace

nlohmann::json describe_machine(const std::string& directory) {
  utsname system{};
  uname(&system);
  return {{"host", system.nodename},
          {"cpu", value_in("/proc/cpuinfo", "model name")},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory", value_in("/proc/meminfo", "MemTotal")},
          {"kernel", system.release},
          {"load", load_average()},
          {"file_system", file_system_name(directory)},
          {"mpi", mpi_library_name()},
          {"date", utc_now()}};
}

std::string mpi_library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "unknown";
  std::istringstream in(text);
  std::string first, second, third;
  in >> first >> second >> third;
  if (first == "Open")
    return fmt::format("Open MPI {}",
                       third.starts_with("v") ? third.substr(1, third.find(',') - 1) : third);
  if (first == "MPICH") return fmt::format("MPICH {}", third);
  return std::string(text).substr(0, std::string(text).find('\n'));
}

bool output_reaches_terminal() {
  constexpr int kGenerations = 4;  // rank, proxy, launcher, and the shell of a script around it
  auto process = getpid();
  for (int i = 0; i < kGenerations && process > 1; ++i) {
    const auto descriptor = fmt::format("/proc/{}/fd/2", process);
    if (is_terminal(descriptor)) return true;
    std::error_code error;
    const auto target = std::filesystem::read_symlink(descriptor, error).string();
    if (error || !target.starts_with("pipe:")) return false;  // a file or a socket: nobody watches
    process = parent_of(process);
  }
  return false;
}

}  // namespace choir::bench
