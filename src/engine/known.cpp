#include "engine/known.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <choir_version.hpp>
#include <ctime>
#include <fstream>
#include <mutex>
#include <sstream>

namespace choir {
namespace {

constexpr std::int64_t save_every_s = 60;

/// The stores of the memory files that are in use: nearly always one.
struct Kept {
  select::Store store;
  bool loaded = false;
  std::int64_t saved_s = 0;
};

struct Known {
  std::mutex mutex;
  std::map<std::string, Kept> by_path;  ///< none: what is known ends with the process
  int open_files = 0;
};

Known& known() {
  static Known all;
  return all;
}

std::int64_t now_s() { return static_cast<std::int64_t>(std::time(nullptr)); }

/// The time since an arbitrary point, which no administrator changes.
std::int64_t steady_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/// An aid only: a full home directory must not disturb the job.
void save(const std::string& path, Kept& kept) {
  kept.saved_s = steady_s();
  kept.store.save(path, now_s());
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown";
}

const std::string& host_kind() {
  static const std::string kind =
      processor() + " x" + std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  return kind;
}

/// Where the file system of a device is mounted; empty: unknown.
std::string mount_point(dev_t device) {
  static std::mutex mutex;
  static std::map<dev_t, std::string> points;
  const std::lock_guard lock(mutex);
  if (const auto found = points.find(device); found != points.end()) return found->second;
  std::string point;
  const auto wanted = std::to_string(major(device)) + ':' + std::to_string(minor(device));
  std::ifstream table("/proc/self/mountinfo");  // no mount is asked, so none can hang us
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, parent, id, root, top;
    if (fields >> number >> parent >> id >> root >> top && id == wanted) point = top;
  }
  return points[device] = point;
}

}  // namespace

KnownAtOpen open_known(const select::Site& site, const std::string& memory) {
  if (memory == "off") return {};
  auto& all = known();
  const std::lock_guard lock(all.mutex);
  const auto path = select::memory_path(memory);
  auto& kept = all.by_path[path];
  if (site.ranks > 1 && !kept.loaded) {
    kept.store.read_also(select::load_store(path));
    kept.loaded = true;
    kept.saved_s = steady_s();
  }
  return {kept.store.lines_for(site, now_s()), all.open_files + 1};
}

void count_open_file() {
  auto& all = known();
  const std::lock_guard lock(all.mutex);
  ++all.open_files;
}

void close_known(const select::Site& site, const std::string& memory,
                 std::map<select::ClassKey, select::Difference> differences) {
  auto& all = known();
  const std::lock_guard lock(all.mutex);
  --all.open_files;
  if (memory == "off") return;
  const auto path = select::memory_path(memory);
  auto& kept = all.by_path[path];
  kept.store.add(site, std::move(differences), now_s());
  if (steady_s() - kept.saved_s >= save_every_s) save(path, kept);
}

void save_known() {
  auto& all = known();
  const std::lock_guard lock(all.mutex);
  for (auto& [path, kept] : all.by_path) save(path, kept);
}

select::Site site_of(int ranks, int nodes, const std::string& path,
                     const std::string& file_system) {
  struct stat info {};
  const bool found = ::stat(path.c_str(), &info) == 0;
  return {ranks, nodes, host_kind(),
          (found ? mount_point(info.st_dev) : std::string()) + "(" + file_system + ")",
          CHOIR_MPI_NAME};
}

}  // namespace choir
