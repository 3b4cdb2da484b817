// trust.hpp: whose files may tell choir what to do.
//
// Other people can put files into the folder in which somebody starts a program. Such a file counts
// only if it belongs to the user or to root, and nobody else may write it.
#pragma once

#include <sys/stat.h>

#include <string>

namespace choir::files {

/// The user who asks, or root.
bool trusted_owner(uid_t owner);

/// Why what `info` describes must not decide; empty if it may.
std::string distrust(const struct stat& info);

/// A descriptor that is closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return number_; }
  /// The caller closes it from now on.
  int release();

 private:
  int number_;
};

}  // namespace choir::files
