// posix.cpp: list transfers by pread, pwrite and their vector forms.
//
// Transfers that continue each other in the file become one system call. Short transfers are
// continued, interrupted ones repeated, and no call asks for more than the kernel moves at once.
#include <limits.h>
#include <sched.h>

#include <cerrno>

#include "storage/storage.hpp"

namespace choir {
namespace {

constexpr std::int64_t most_per_call = 0x7ffff000;
constexpr int most_parts = 1024;  // IOV_MAX of Linux

class PosixStorage final : public Storage {
 public:
  PosixStorage(int fd, Device& device) : fd_(fd), device_(device) {}

  bool start(Job& job) override {
    for (std::size_t i = 0; i < job.transfers.size() && job.error == 0;) i = move_group(job, i);
    return true;
  }
  bool poll(Job&) override { return true; }
  std::string_view name() const override { return "posix"; }

 private:
  /// Moves the transfers from `first` on that continue each other; returns the index after them.
  std::size_t move_group(Job& job, std::size_t first) {
    if (job.transfers[first].length == 0) return first + 1;  // would look like the end of the file
    std::int64_t offset = job.transfers[first].offset;
    std::int64_t end = offset;
    parts_.clear();
    std::size_t i = first;
    for (; i < job.transfers.size() && parts_.size() < most_parts; ++i) {
      const auto& transfer = job.transfers[i];
      if (transfer.offset != end || end - offset + transfer.length > most_per_call) break;
      parts_.push_back({transfer.data, static_cast<std::size_t>(transfer.length)});
      end += transfer.length;
    }
    if (parts_.empty()) {  // one transfer too large for one call
      parts_.push_back(
          {job.transfers[first].data, static_cast<std::size_t>(job.transfers[first].length)});
      i = first + 1;
    }
    move_parts(job, offset);
    return i;
  }

  void move_parts(Job& job, std::int64_t offset) {
    std::size_t next = 0;
    while (next < parts_.size()) {
      auto moved = call(job.operation, next, offset);
      ++job.requests;
      if (stops(job, moved, offset)) return;
      offset += moved;
      job.bytes += moved;
      consume(next, moved);
    }
  }

  /// Whether nothing can follow a system call that returned `moved`; why is in the job. One that
  /// was interrupted moved nothing and is made again.
  static bool stops(Job& job, ssize_t& moved, std::int64_t offset) {
    if (moved > 0) return false;
    if (moved < 0 && errno == EINTR) {
      moved = 0;
      return false;
    }
    if (moved < 0)
      job.error = errno != 0 ? errno : EIO;
    else if (job.operation == Operation::write)
      job.error = ENOSPC;  // it would loop for ever
    else
      job.end_of_file = std::min(job.end_of_file, offset);
    return true;
  }

  ssize_t call(Operation operation, const Transfer& transfer) {
    const auto size = static_cast<std::size_t>(std::min(transfer.length, most_per_call));
    return operation == Operation::read ? device_.pread(fd_, transfer.data, size, transfer.offset)
                                        : device_.pwrite(fd_, transfer.data, size, transfer.offset);
  }

  ssize_t call(Operation operation, std::size_t next, std::int64_t offset) {
    const auto left = parts_.size() - next;
    if (left == 1) {
      const auto& part = parts_[next];
      return call(operation, {offset, static_cast<char*>(part.iov_base),
                              static_cast<std::int64_t>(part.iov_len)});
    }
    const auto count = static_cast<int>(left);
    return operation == Operation::read ? device_.preadv(fd_, &parts_[next], count, offset)
                                        : device_.pwritev(fd_, &parts_[next], count, offset);
  }

  void consume(std::size_t& next, std::int64_t moved) {
    while (next < parts_.size() && moved >= static_cast<std::int64_t>(parts_[next].iov_len)) {
      moved -= static_cast<std::int64_t>(parts_[next].iov_len);
      ++next;
    }
    if (moved > 0) {
      parts_[next].iov_base = static_cast<char*>(parts_[next].iov_base) + moved;
      parts_[next].iov_len -= static_cast<std::size_t>(moved);
    }
  }

  int fd_;
  Device& device_;
  std::vector<iovec> parts_;
};

}  // namespace

int Storage::run(Job& job) {
  if (!start_here(job)) await(job);
  return job.error;
}

void Storage::await(Job& job) {
  while (!poll(job)) sched_yield();
}

std::unique_ptr<Storage> posix_storage(int fd, Device& device) {
  return std::make_unique<PosixStorage>(fd, device);
}

}  // namespace choir
