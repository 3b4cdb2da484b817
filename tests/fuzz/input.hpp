// input.hpp: what the readers under test are given.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace choir::fuzz {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The input as a file, for readers that want a path. The file is in memory and gone with this.
class AsFile {
 public:
  AsFile(const std::uint8_t* data, std::size_t size) : fd_(memfd_create("input", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::write(fd_, data, size) != static_cast<ssize_t>(size))
      throw std::runtime_error("no memory for the input");
  }
  AsFile(const AsFile&) = delete;
  AsFile& operator=(const AsFile&) = delete;
  ~AsFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// A reader may refuse with a message. Anything else it must survive.
template <class Read>
void may_refuse(Read&& read) {
  try {
    read();
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace choir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
