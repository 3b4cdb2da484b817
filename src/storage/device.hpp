// device.hpp: the system calls a backend makes, as an interface, so that faults are an ordinary
// device.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>

namespace choir {

/// Like the system calls of the same names: -1 and errno on failure, short transfers allowed.
class Device {
 public:
  virtual ~Device() = default;
  virtual ssize_t pread(int fd, void* data, std::size_t size, off_t offset) = 0;
  virtual ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset) = 0;
  virtual ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) = 0;
  virtual ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) = 0;
};

/// The kernel itself.
Device& system_device();

/// What a faulty device does: from the `after`-th matching request on, fail with `error`, move at
/// most `short_bytes`, be interrupted once before each request, or be as slow as
/// `bytes_per_second`.
struct Fault {
  enum class Operation { any, read, write };
  Operation operation = Operation::any;
  std::int64_t after = 0;
  int error = 0;
  std::int64_t short_bytes = 0;
  bool interrupt = false;
  int rank = -1;  ///< -1: every rank
  double bytes_per_second = 0;
  double seek_seconds = 0;  ///< added when a request does not continue the one before
};

/// Parses `op=write,after=3,error=ENOSPC,short=100,eintr=1,rank=1,bytes_per_second=1e6,seek=0.005`.
/// Throws std::invalid_argument naming what it cannot read.
Fault parse_fault(const std::string& text);

std::unique_ptr<Device> faulty_device(Device& under, const Fault& fault);

}  // namespace choir
