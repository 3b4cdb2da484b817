#include "files/trust.hpp"

#include <unistd.h>

#include <utility>

namespace choir::files {

bool trusted_owner(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

std::string distrust(const struct stat& info) {
  if (!trusted_owner(info.st_uid))
    return "it belongs to another user (number " + std::to_string(info.st_uid) + ")";
  // The mode of a link says nothing: nobody can write into one.
  if (!S_ISLNK(info.st_mode) && (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "other users may write it (chmod go-w helps)";
  return {};
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

int Descriptor::release() { return std::exchange(number_, -1); }

}  // namespace choir::files
