// descriptor.hpp: files as this process has them open, whatever becomes of their names.
//
// A name may be relative, and the program may change its folder, its user, or the name itself while
// the file is open. A descriptor goes on meaning the file.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace choir {

/// Which file it is. Inodes are the same on all machines; devices are numbered by each.
struct FileIdentity {
  std::int64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Nothing: not a regular file, or not open.
std::optional<FileIdentity> identity_of(int fd);
/// Of what the name means now. Nothing: not a regular file, or there is none.
std::optional<FileIdentity> identity_of(const char* name);

/// What this process has open, ascending. Empty where the system does not tell (no /proc).
std::vector<int> open_descriptors();

/// A new descriptor of the file that `fd` holds, with `flags` of its own; -1 and errno.
int reopen(int fd, int flags);
/// Whether bytes can be read from, or written to, any place of the file by `fd` itself.
bool reads_anywhere(int fd);
bool writes_anywhere(int fd);

/// A descriptor that is closed at the end, unless it is somebody else's.
class Descriptor {
 public:
  Descriptor() = default;
  static Descriptor owned(int fd) { return Descriptor(fd, true); }
  static Descriptor borrowed(int fd) { return Descriptor(fd, false); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();
  /// Somebody else's from now on.
  int release();

 private:
  Descriptor(int fd, bool own) : fd_(fd), own_(own) {}
  int fd_ = -1;
  bool own_ = false;
};

}  // namespace choir
