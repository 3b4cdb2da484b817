// job.hpp: what the benchmark's drivers share: the ranks of the job, what they agree on, memory and
// files.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace choir::bench {

enum class Clock {
  common,
  elapsed
};  // one monotonic clock for all ranks; or the longest rank after a barrier

double now_seconds();
int world_rank();
int world_size();

/// Collective, like all that agree.
double agree_max(double value);
std::int64_t agree_max(std::int64_t value);
std::int64_t agree_sum(std::int64_t value);
/// The text of the lowest rank that has one, on every rank; empty if none has.
std::string agree_text(const std::string& mine);
/// Rank 0's process id, on every rank. Collective.
int job_number();
/// True if all ranks share one host, hence one clock. Collective.
bool on_one_host();

/// Memory that exists before anything is timed.
class Buffer {
 public:
  /// Begins `shift` bytes behind a page.
  Buffer(std::int64_t bytes, int shift);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();
  char* data() const { return static_cast<char*>(memory_) + shift_; }
  void clear();

 private:
  std::size_t bytes_;
  int shift_;
  void* memory_ = nullptr;
};

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags);
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return value_; }

 private:
  int value_;
};

/// Runs `body`; an exception becomes its text, so that one rank's trouble is agreed on before
/// anybody goes on.
template <class Body>
std::string text_of_failure(Body&& body) {
  try {
    body();
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// [begin, end) of this rank when `bytes` are cut evenly.
std::pair<std::int64_t, std::int64_t> own_share(std::int64_t bytes);
/// Fills this rank's share of a file of `bytes` with the pattern. Throws std::system_error.
void write_share(const std::string& path, std::int64_t bytes, std::uint64_t generation);

}  // namespace choir::bench
