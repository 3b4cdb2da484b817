// host_file.hpp: which file the host MPI has opened, as far as its descriptors tell.
//
// A name does not say it: "ufs:x" is the file x to one MPI library, read by its driver ufs, and the
// file "ufs:x" to another. So choir looks for the descriptor that the host has just opened, and
// writes into that file only. Local.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/descriptor.hpp"

namespace choir {

class HostFile {
 public:
  /// Before the host opens the file.
  HostFile() : before_(open_descriptors()) {
    // Only regular files: a socket's number may be the file's next, if another thread closes it.
    std::erase_if(before_, [](int fd) { return !identity_of(fd); });
  }

  /// After that: whether the host has opened what `name` means, with or without the prefix of a
  /// driver. If not, it keeps the file in some way that choir does not know.
  bool find(const std::string& name);
  /// The same where another rank has found the file. On other machines its device may have another
  /// number. Where the host has opened the file on some ranks only, it is opened here, in `mode`.
  bool find(const FileIdentity& known, bool same_machine, const std::string& name, int mode);

  const std::string& path() const { return path_; }
  /// Of the host, or opened here.
  int descriptor() const { return descriptor_.get(); }
  Descriptor take() { return std::move(descriptor_); }

 private:
  template <class Wanted>
  bool take_from_host(Wanted&& wanted);

  std::vector<int> before_;
  std::string path_;
  Descriptor descriptor_;
};

/// The path behind the prefix of a driver, as in "ufs:/scratch/x".
std::string path_behind_prefix(const std::string& name);

}  // namespace choir
