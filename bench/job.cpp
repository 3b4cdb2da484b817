// job.cpp: see job.hpp.
#include "job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <system_error>
#include <vector>

#include "pattern.hpp"
#include "program.hpp"

namespace choir::bench {

double now_seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int world_rank() {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  return rank;
}

int world_size() {
  int size = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &size));
  return size;
}

double agree_max(double value) {
  double result = 0;
  check(MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  return result;
}

std::int64_t agree_sum(std::int64_t value) {
  std::int64_t result = 0;
  check(MPI_Allreduce(&value, &result, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  return result;
}

std::int64_t agree_max(std::int64_t value) {
  std::int64_t result = 0;
  check(MPI_Allreduce(&value, &result, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
  return result;
}

std::string agree_text(const std::string& mine) {
  int first = mine.empty() ? world_size() : world_rank();
  int lowest = 0;
  check(MPI_Allreduce(&first, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (lowest == world_size()) return {};
  char text[512] = "";
  std::strncpy(text, mine.c_str(), sizeof(text) - 1);
  check(MPI_Bcast(text, sizeof(text), MPI_CHAR, lowest, MPI_COMM_WORLD));
  return fmt::format("rank {}: {}", lowest, text);
}

Buffer::Buffer(std::int64_t bytes, int shift)
    : bytes_(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1) + shift)), shift_(shift) {
  memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
}

Buffer::~Buffer() { munmap(memory_, bytes_); }

void Buffer::clear() { std::memset(memory_, 0xa5, bytes_); }

Descriptor::Descriptor(const std::string& path, int flags)
    : value_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
  if (value_ < 0) throw std::system_error(errno, std::generic_category(), path);
}

Descriptor::~Descriptor() { ::close(value_); }

std::pair<std::int64_t, std::int64_t> own_share(std::int64_t bytes) {
  return {bytes * world_rank() / world_size(), bytes * (world_rank() + 1) / world_size()};
}

void write_share(const std::string& path, std::int64_t bytes, std::uint64_t generation) {
  constexpr std::int64_t kChunk = 4 << 20;
  const Descriptor file(path, O_CREAT | O_WRONLY);
  const auto [begin, end] = own_share(bytes);
  std::vector<char> chunk(static_cast<std::size_t>(kChunk));
  for (auto at = begin; at < end;) {
    const auto length = std::min(kChunk, end - at);
    fill_pattern(chunk.data(), at, length, generation);
    const auto moved = pwrite(file.get(), chunk.data(), static_cast<std::size_t>(length), at);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) throw std::system_error(errno, std::generic_category(), path);
    at += moved;
  }
}

int job_number() {
  int number = static_cast<int>(getpid());
  check(MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD));
  return number;
}

bool on_one_host() {
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  int size = 0;
  check(MPI_Comm_size(node, &size));
  check(MPI_Comm_free(&node));
  return agree_max(static_cast<std::int64_t>(world_size() - size)) == 0;
}

}  // namespace choir::bench
