#include "files/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "files/trust.hpp"

namespace choir::files {
namespace {

bool fail(int error) {
  errno = error;
  return false;
}

/// Takes an older output away.
bool make_room(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno == ENOENT;
  if (S_ISLNK(info.st_mode)) return fail(ELOOP);
  if (!S_ISREG(info.st_mode)) return fail(EISDIR);
  return ::unlink(path.c_str()) == 0 || errno == ENOENT;
}

bool is_foreign_link(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode) && !trusted_owner(info.st_uid);
}

}  // namespace

int create_output(const std::string& path, mode_t mode) {
  if (!make_room(path)) return -1;
  // O_EXCL follows no link, and what others put there meanwhile is an error.
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

int open_own(const std::string& path, mode_t mode) {
  // Without O_NONBLOCK a pipe that others put there would keep us waiting.
  Descriptor file(::open(path.c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return -1;
  if (!S_ISREG(info.st_mode)) {
    errno = EISDIR;
    return -1;
  }
  return file.release();
}

bool make_folders(const std::string& path, mode_t mode) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const auto folder = path.substr(0, at);
    if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST) return false;
    if (at == std::string::npos) break;
  }
  const auto name = path.substr(0, path.find_last_not_of('/') + 1);
  return !is_foreign_link(name) || fail(EPERM);
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string reason(int error) {
  if (error == ELOOP) return "it is a link, and choir writes through no link";
  if (error == EISDIR) return "it is no file";
  if (error == EPERM) return "it belongs to another user";
  return std::strerror(error);
}

}  // namespace choir::files
