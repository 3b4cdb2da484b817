#include "stage/node/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "access/copy.hpp"
#include "access/coverage.hpp"
#include "storage/storage.hpp"

namespace choir::stage {
namespace {

/// The largest power of two that divides where everything in the window begins and ends.
std::int64_t grain_of(const Window& window) {
  std::uint64_t bits = 4096;
  for (const auto& source : window.sources) {
    bits |= static_cast<std::uint64_t>(source.run.offset - window.span.begin);
    bits |= static_cast<std::uint64_t>(source.run.length);
    if (source.run.count > 1) bits |= static_cast<std::uint64_t>(source.run.stride);
  }
  return std::int64_t{1} << std::countr_zero(bits);
}

/// Puts the window together in `buffer`. The stretches of it that have bytes.
std::vector<Extent> put_together(const Window& window, char* buffer) {
  const auto grain = grain_of(window);
  std::vector<std::uint64_t> words(
      static_cast<std::size_t>(Coverage::words_for(window.span.size(), grain)));
  Coverage coverage(words.data(), window.span.size(), grain);
  for (const auto& source : window.sources) {
    auto run = source.run;
    run.offset -= window.span.begin;
    copy_blocks(buffer + run.offset, run.stride, source.data, run.length, run.length, run.count);
    coverage.mark(run);
  }
  return coverage.extents();
}

int truncate(int fd, std::int64_t size) {
  while (ftruncate(fd, size) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

int grow(int fd, std::int64_t size) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return errno;
  return info.st_size < size ? truncate(fd, size) : 0;
}

}  // namespace

Files::Files(std::function<void()> wake, int threads, Device& device)
    : wake_(std::move(wake)), device_(device) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Files::~Files() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Files::add(std::uint64_t open, Descriptor fd) {
  const std::lock_guard lock(mutex_);
  descriptors_.insert_or_assign(open, std::move(fd));
}

std::vector<Files::Ended> Files::take_ended() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ended_, {});
}

void Files::start(std::uint64_t number, const Request& request) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = descriptors_.find(request.open);
    tasks_.push_back({number, request, found == descriptors_.end() ? -1 : found->second.get()});
  }
  changed_.notify_one();
}

std::int64_t Files::size(std::uint64_t open) {
  const std::lock_guard lock(mutex_);
  const auto found = descriptors_.find(open);
  struct stat info {};
  if (found == descriptors_.end() || fstat(found->second.get(), &info) != 0) return 0;
  return info.st_size;
}

void Files::work() {
  std::vector<char> buffer;
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    const int error = carry_out(task, buffer);
    lock.lock();
    ended_.push_back({task.number, error});
    lock.unlock();
    wake_();
  }
}

int Files::carry_out(const Task& task, std::vector<char>& buffer) {
  if (task.fd < 0) return EBADF;
  switch (task.request.kind) {
    case Kind::write:
      return write(task.fd, task.request.window, buffer);
    case Kind::grow:
      return grow(task.fd, task.request.argument);
    case Kind::truncate:
      return truncate(task.fd, task.request.argument);
    case Kind::sync:
      return fsync(task.fd) == 0 ? 0 : errno;
    case Kind::close:
      return close(task.request.open);
    case Kind::fence:
    case Kind::size:
      break;
  }
  return EINVAL;
}

int Files::write(int fd, const Window& window, std::vector<char>& buffer) {
  const auto storage = posix_storage(fd, device_);
  Job job;
  job.operation = Operation::write;
  if (window.is_block()) {
    // The device only reads from there.
    job.transfers.push_back(
        {window.span.begin, const_cast<char*>(window.sources[0].data), window.span.size()});
    return storage->run(job);
  }
  if (buffer.empty()) buffer.resize(request_bytes);
  for (const auto& stretch : put_together(window, buffer.data()))
    job.transfers.push_back(
        {window.span.begin + stretch.begin, buffer.data() + stretch.begin, stretch.size()});
  return storage->run(job);
}

int Files::close(std::uint64_t open) {
  int fd = -1;
  {
    const std::lock_guard lock(mutex_);
    const auto found = descriptors_.find(open);
    if (found == descriptors_.end()) return EBADF;
    fd = found->second.release();
    descriptors_.erase(found);
  }
  return ::close(fd) == 0 ? 0 : errno;  // it is closed either way
}

}  // namespace choir::stage
