#include "settings/machines.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace choir {
namespace {

namespace fs = std::filesystem;

/// The processor's model; what names it differs between architectures.
std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos && colon + 2 < line.size())
      return line.substr(colon + 2);
  }
  utsname name{};
  return uname(&name) == 0 ? name.machine : "unknown";
}

/// "6.1" of "6.1.0-32-amd64".
std::string kernel_version() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  const std::string release = name.release;
  return release.substr(0, release.find_first_of(".-", release.find('.') + 1));
}

/// -1: there is nothing of that name.
std::int64_t device_of(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_dev) : -1;
}

/// A machine file is a page of text.
std::string text_in(const std::string& path) {
  constexpr std::size_t most_bytes = 1 << 16;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) throw std::runtime_error(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) throw std::runtime_error("it is no file");
  std::ifstream in(path, std::ios::binary);
  std::string text(most_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) throw std::runtime_error("it cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > most_bytes) throw std::runtime_error("it is too long");
  return text;
}

/// By name, so that every process finds the same one first.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  if (folder.empty()) return files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".machine") files.push_back(at->path().string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

HostKind host_kind_here() {
  return {cpu_model(), static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))),
          kernel_version()};
}

std::string mount_of(const std::string& path) {
  std::error_code error;
  fs::path at = fs::canonical(path, error);
  const auto device = error ? -1 : device_of(at);
  if (device < 0) throw std::runtime_error(path + ": there is no such folder");
  while (at.has_parent_path() && at != at.root_path() && device_of(at.parent_path()) == device)
    at = at.parent_path();
  return at.string();
}

std::string user_machine_folder() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && config[0] == '/') return std::string(config) + "/choir/machines";
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.config/choir/machines" : "";
}

Machines::Machines(const std::string& setting, std::optional<HostKind> host)
    : host_(std::move(host)) {
  if (setting == "off") return;
  auto paths = std::vector<std::string>{setting};
  if (setting == "auto") {
    paths = files_in(user_machine_folder());
    for (auto& path : files_in(site_machine_folder)) paths.push_back(std::move(path));
  }
  for (const auto& path : paths) read(path);
  if (usable_.empty() && !strangers_.empty()) warnings_.push_back(strangers_.front());
}

void Machines::read(const std::string& path) {
  try {
    auto file = parse_machine(text_in(path));
    if (!host_) host_ = host_kind_here();
    if (file.host == *host_) {
      usable_.push_back({device_of(file.mount), std::move(file)});
    } else {
      strangers_.push_back("the figures in " + path + " are of another kind of node (" +
                           file.host.words() + "; here " + host_->words() +
                           ") and not used: run choir measure here");
    }
  } catch (const std::exception& error) {
    warnings_.push_back(path + ": " + error.what() + "; not used");
  }
}

const MachineCosts* Machines::costs_for(std::int64_t device) {
  for (const auto& one : usable_)
    if (one.device == device) return &one.file.costs;
  if (!usable_.empty() && !std::exchange(said_mount_, true))
    warnings_.push_back("the figures of choir measure are of " + usable_.front().file.mount +
                        "; for files on other mounts those compiled in are used");
  return nullptr;
}

}  // namespace choir
