#include "measure.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

namespace choir::iobench {
namespace {

constexpr std::size_t alignment = 4096;  // enough for O_DIRECT

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, Free>;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

Buffer buffer_of(std::int64_t bytes) {
  const auto size = (static_cast<std::size_t>(bytes) + alignment - 1) / alignment * alignment;
  Buffer buffer(static_cast<char*>(std::aligned_alloc(alignment, size)));
  if (!buffer) fail(ENOMEM, "a buffer");
  for (std::size_t i = 0; i < size; ++i) buffer.get()[i] = static_cast<char>(i * 2654435761U >> 13);
  return buffer;
}

/// All of it or an error.
int transfer(int fd, Operation operation, char* data, std::int64_t bytes, std::int64_t offset) {
  while (bytes > 0) {
    const auto size = static_cast<std::size_t>(bytes);
    const auto moved = operation == Operation::write ? pwrite(fd, data, size, offset)
                                                     : pread(fd, data, size, offset);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EIO;
    data += moved, bytes -= moved, offset += moved;
  }
  return 0;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The k-th request of a part of n: a full cycle through it in an order no read-ahead follows.
std::int64_t place(Order order, std::int64_t k, std::int64_t n) {
  if (order == Order::sequential || n < 4) return k % n;
  auto step = static_cast<std::int64_t>(static_cast<double>(n) * 0.618) | 1;
  const auto common = [](std::int64_t a, std::int64_t b) {
    while (b != 0) a %= b, std::swap(a, b);
    return a;
  };
  while (common(step, n) != 1) step += 2;
  return k * (step % n) % n;
}

struct Worker {
  std::int64_t done = 0;
  int error = 0;
};

}  // namespace

TestFile::TestFile(const std::string& directory, std::int64_t bytes, bool direct)
    : path_(directory + "/choir-iobench-" + std::to_string(getpid())), bytes_(bytes) {
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0) fail(errno, path_);
  int error = 0;
  const std::int64_t step = std::min<std::int64_t>(bytes, 1 << 20);
  const auto data = buffer_of(step);
  for (std::int64_t at = 0; at < bytes && error == 0; at += step)
    error = transfer(fd_, Operation::write, data.get(), std::min(step, bytes - at), at);
  if (error == 0 && fsync(fd_) != 0) error = errno;
  if (error == 0 && direct && fcntl(fd_, F_SETFL, O_DIRECT) != 0) error = errno;
  if (error == 0) return;
  close(fd_);
  unlink(path_.c_str());
  fail(error, path_);
}

TestFile::~TestFile() {
  close(fd_);
  unlink(path_.c_str());
}

void TestFile::forget() const {
  // Advice only: where the system does not follow it, the figures are those of its cache.
  posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
}

Point measure(const TestFile& file, Operation operation, Order order, int threads,
              std::int64_t request_bytes, double limit_s) {
  if (operation == Operation::read) file.forget();
  const auto part = file.bytes() / threads / request_bytes;  // requests of a thread
  if (part == 0) fail(EINVAL, "the file is too small for this many threads and bytes a request");
  std::vector<Worker> workers(static_cast<std::size_t>(threads));
  std::atomic<int> ready{0};
  std::atomic<double> started{0};
  const auto work = [&](int t) {
    auto& mine = workers[static_cast<std::size_t>(t)];
    const auto data = buffer_of(request_bytes);
    if (++ready == threads) started = now_s();
    while (ready < threads || started.load() == 0) std::this_thread::yield();
    const auto begin = t * part;
    for (std::int64_t k = 0; k < part && mine.error == 0; ++k) {
      mine.error = transfer(file.descriptor(), operation, data.get(), request_bytes,
                            (begin + place(order, k, part)) * request_bytes);
      ++mine.done;
      if (now_s() - started.load() > limit_s) break;
    }
  };
  std::vector<std::thread> pool;
  pool.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) pool.emplace_back(work, t);
  for (auto& thread : pool) thread.join();
  if (operation == Operation::write && fsync(file.descriptor()) != 0) fail(errno, "fsync");
  Point point{operation, order, threads, request_bytes, 0, now_s() - started.load()};
  for (const auto& worker : workers) {
    if (worker.error != 0) fail(worker.error, operation == Operation::write ? "write" : "read");
    point.requests += worker.done;
  }
  return point;
}

Fit fit(const std::vector<Point>& points, Operation operation) {
  const Point *small = nullptr, *large = nullptr;
  double seeks = 0;
  int compared = 0;
  for (const auto& point : points) {
    if (point.operation != operation || point.threads != 1) continue;
    if (point.order == Order::sequential) {
      if (small == nullptr || point.request_bytes < small->request_bytes) small = &point;
      if (large == nullptr || point.request_bytes > large->request_bytes) large = &point;
      continue;
    }
    for (const auto& other : points)
      if (other.operation == operation && other.threads == 1 && other.order == Order::sequential &&
          other.request_bytes == point.request_bytes) {
        seeks += point.per_request() - other.per_request();
        ++compared;
      }
  }
  Fit result;
  if (small == nullptr) return result;
  result.bandwidth = large->bandwidth();
  if (large->request_bytes > small->request_bytes && large->per_request() > small->per_request())
    result.bandwidth = static_cast<double>(large->request_bytes - small->request_bytes) /
                       (large->per_request() - small->per_request());
  result.request_s = std::max(
      0.0, small->per_request() - static_cast<double>(small->request_bytes) / result.bandwidth);
  if (compared > 0) result.seek_s = std::max(0.0, seeks / compared);
  return result;
}

}  // namespace choir::iobench
