// measure.hpp: timed requests of one or several threads to one file, and the line through the
// times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace choir::iobench {

enum class Operation { write, read };
enum class Order { sequential, random };

struct Point {
  Operation operation = Operation::write;
  Order order = Order::sequential;
  int threads = 1;
  std::int64_t request_bytes = 0;
  std::int64_t requests = 0;  ///< of all threads
  double seconds = 0;         ///< first thread in to last thread out, fsync included for writes

  double bandwidth() const {
    return seconds > 0 ? static_cast<double>(requests * request_bytes) / seconds : 0;
  }
  /// Of one thread.
  double per_request() const {
    return requests > 0 ? seconds * threads / static_cast<double>(requests) : 0;
  }
};

/// A file of `bytes` bytes of data in `directory`, removed at the end.
class TestFile {
 public:
  /// Throws std::system_error naming what failed.
  TestFile(const std::string& directory, std::int64_t bytes, bool direct);
  ~TestFile();
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;

  int descriptor() const { return fd_; }
  std::int64_t bytes() const { return bytes_; }
  /// Lets go of what the page cache has of the file.
  void forget() const;

 private:
  std::string path_;
  int fd_ = -1;
  std::int64_t bytes_;
};

/// Each thread works through its own part of the file, for at most `limit_s` seconds. Throws
/// std::system_error.
Point measure(const TestFile& file, Operation operation, Order order, int threads,
              std::int64_t request_bytes, double limit_s);

/// What `choir model` takes for a server: t = request + bytes / bandwidth, and a seek where order
/// is random.
struct Fit {
  double bandwidth = 0, request_s = 0, seek_s = 0;
};
Fit fit(const std::vector<Point>& points, Operation operation);

}  // namespace choir::iobench
