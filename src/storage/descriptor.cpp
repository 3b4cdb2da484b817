#include "storage/descriptor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace choir {
namespace {

std::optional<FileIdentity> identity_in(const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return std::nullopt;
  return FileIdentity{static_cast<std::int64_t>(info.st_dev),
                      static_cast<std::int64_t>(info.st_ino)};
}

/// Whether transfers by `fd` go to the place they name, in any length, and its mode allows them.
bool moves_anywhere(int fd, int mode) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & (O_APPEND | O_DIRECT)) != 0) return false;
  return (flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == mode;
}

}  // namespace

std::optional<FileIdentity> identity_of(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return std::nullopt;
  return identity_in(info);
}

std::optional<FileIdentity> identity_of(const char* name) {
  struct stat info {};
  if (stat(name, &info) != 0) return std::nullopt;
  return identity_in(info);
}

std::vector<int> open_descriptors() {
  std::vector<int> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (!folder) return found;
  while (const dirent* entry = readdir(folder.get()))
    if (entry->d_name[0] != '.') found.push_back(std::atoi(entry->d_name));
  std::erase(found, dirfd(folder.get()));
  std::sort(found.begin(), found.end());
  return found;
}

int reopen(int fd, int flags) {
  return ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), flags | O_CLOEXEC);
}

bool reads_anywhere(int fd) { return moves_anywhere(fd, O_RDONLY); }
bool writes_anywhere(int fd) { return moves_anywhere(fd, O_WRONLY); }

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), own_(std::exchange(other.own_, false)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    own_ = std::exchange(other.own_, false);
  }
  return *this;
}

void Descriptor::reset() {
  if (own_ && fd_ >= 0) ::close(fd_);
  fd_ = -1;
  own_ = false;
}

int Descriptor::release() {
  own_ = false;
  return std::exchange(fd_, -1);
}

}  // namespace choir
