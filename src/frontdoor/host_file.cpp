#include "frontdoor/host_file.hpp"

#include <fcntl.h>

#include <algorithm>

namespace choir {

std::string path_behind_prefix(const std::string& name) {
  const auto colon = name.find(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

/// The host may have opened the file twice; one descriptor is as good as the other.
template <class Wanted>
bool HostFile::take_from_host(Wanted&& wanted) {
  for (const int fd : open_descriptors()) {
    if (std::binary_search(before_.begin(), before_.end(), fd)) continue;
    const auto identity = identity_of(fd);
    if (!identity || !wanted(*identity)) continue;
    descriptor_ = Descriptor::borrowed(fd);
    return true;
  }
  return false;
}

bool HostFile::find(const std::string& name) {
  for (const auto& path : {name, path_behind_prefix(name)}) {
    const auto meant = identity_of(path.c_str());
    if (!meant || !take_from_host([&](const FileIdentity& found) { return found == *meant; }))
      continue;
    path_ = path;
    return true;
  }
  return false;
}

bool HostFile::find(const FileIdentity& known, bool same_machine, const std::string& name,
                    int mode) {
  const auto wanted = [&](const FileIdentity& found) {
    return found.inode == known.inode && (!same_machine || found.device == known.device);
  };
  path_ = name;
  if (take_from_host(wanted)) return true;
  for (const auto& path : {name, path_behind_prefix(name)}) {
    auto opened = Descriptor::owned(::open(path.c_str(), mode | O_NONBLOCK | O_CLOEXEC));
    const auto identity = identity_of(opened.get());
    if (!identity || !wanted(*identity)) continue;
    descriptor_ = std::move(opened);
    return true;
  }
  return false;
}

}  // namespace choir
