// driver.cpp: see driver.hpp.
#include "driver.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "leftovers.hpp"
#include "pattern.hpp"

namespace choir::bench {

namespace {

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

/// The text of the lowest rank that has one, on every rank; empty if none has.
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

/// Memory that exists before anything is timed.
class Buffer {
 public:
  /// Begins `shift` bytes behind a page.
  Buffer(std::int64_t bytes, int shift)
      : bytes_(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1) + shift)), shift_(shift) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { munmap(memory_, bytes_); }
  char* data() const { return static_cast<char*>(memory_) + shift_; }
  void clear() { std::memset(memory_, 0xa5, bytes_); }

 private:
  std::size_t bytes_;
  int shift_;
  void* memory_ = nullptr;
};

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : value_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (value_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(value_); }
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
std::pair<std::int64_t, std::int64_t> own_share(std::int64_t bytes) {
  return {bytes * world_rank() / world_size(), bytes * (world_rank() + 1) / world_size()};
}

/// Fills this rank's share of a file of `bytes` with the pattern.
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

/// Rank 0's process id, on every rank.
int job_number() {
  int number = static_cast<int>(getpid());
  check(MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD));
  return number;
}

/// One contender with its file, figures and state.
struct Entrant {
  std::unique_ptr<Contender> contender;
  Result result;
  std::string path;
  double spent_seconds = 0;
  bool open = false;

  bool alive() const { return open && result.error.empty() && !result.stopped_early; }
};

class Run {
 public:
  Run(Operation operation, const Program& program, const DriverOptions& options,
      const Progress& progress)
      : operation_(operation),
        program_(program),
        options_(options),
        progress_(progress),
        buffer_(program.buffer_bytes, options.buffer_shift),
        file_end_(agree_max(program.file_end())),
        dense_(agree_sum(program.bytes()) == file_end_),
        one_host_(on_one_host()),
        job_(job_number()) {}

  std::vector<Result> execute() {
    enter();
    warm_up();
    for (int repetition = 0; repetition < options_.repeat; ++repetition) measure_all(repetition);
    leave();
    std::vector<Result> results;
    for (auto& entrant : entrants_) results.push_back(std::move(entrant.result));
    return results;
  }

 private:
  std::string path_of(const std::string& name) const {
    return fmt::format("{}/choir-bench-{}-{}-{}.dat", options_.directory, job_, name_of(operation_),
                       name);
  }

  void fail(Entrant& entrant, const std::string& my_text) {
    const auto text = agree_text(my_text);
    if (!text.empty() && entrant.result.error.empty()) entrant.result.error = text;
  }

  /// Makes room for a file of ours at `path`, which an interrupted run takes away again.
  void claim(const std::string& path) {
    remove(path);
    if (!options_.keep) note_leftover(path);
  }

  void remove(const std::string& path) {
    forget_leftover(path);
    check(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank() == 0) ::unlink(path.c_str());
    check(MPI_Barrier(MPI_COMM_WORLD));
  }

  void open(Entrant& entrant) {
    fail(entrant, entrant.contender->open(entrant.path, operation_));
    entrant.open = entrant.result.error.empty();
    if (entrant.open && options_.presize && operation_ == Operation::write) presize(entrant);
  }

  void presize(Entrant& entrant) {
    std::string text;
    if (world_rank() == 0 && ::truncate(entrant.path.c_str(), file_end_) != 0)
      text = entrant.path + ": " + std::strerror(errno);
    fail(entrant, text);
  }

  /// Reads share one file, so that all contenders meet the same pages; a write has a file of its
  /// own.
  void enter() {
    const auto shared = path_of("shared");
    if (operation_ == Operation::read) {
      claim(shared);
      const auto text =
          agree_text(text_of_failure([&] { write_share(shared, file_end_, options_.seed); }));
      if (!text.empty()) throw std::runtime_error("cannot prepare the file to read: " + text);
    }
    for (const auto& name : options_.contenders) {
      Entrant entrant;
      entrant.contender = make_contender(name, options_.step);
      entrant.result.operation = operation_;
      entrant.result.contender = name;
      const bool own_file = operation_ == Operation::write || !entrant.contender->same_bytes();
      // Numbered: the same contender may be named twice, to see how far equal figures lie apart.
      entrant.path = own_file ? path_of(fmt::format("{}-{}", entrants_.size(), name)) : shared;
      if (own_file) claim(entrant.path);
      if (operation_ == Operation::read && own_file) prepare_floor_file(entrant);
      open(entrant);
      entrants_.push_back(std::move(entrant));
    }
  }

  /// The floor reads contiguous parts, rounded up to whole pages, of a file that needs room for
  /// them.
  void prepare_floor_file(Entrant& entrant) {
    const auto room = agree_sum((program_.bytes() + 4095) / 4096 * 4096);
    fail(entrant, text_of_failure([&] { write_share(entrant.path, room, options_.seed); }));
  }

  void leave() {
    for (auto& entrant : entrants_) {
      if (entrant.open) fail(entrant, entrant.contender->close());
      if (!options_.keep) remove(entrant.path);
    }
    if (!options_.keep && operation_ == Operation::read) remove(path_of("shared"));
  }

  int warmup_steps(const Entrant& entrant) const {
    if (entrant.result.contender != "auto") return options_.warmup;
    const auto calls = std::max<int>(1, static_cast<int>(program_.calls.size()));
    return std::max(options_.warmup, (options_.auto_warmup_calls + calls - 1) / calls);
  }

  void warm_up() {
    fill_buffer(program_, buffer_.data(), options_.seed);
    for (auto& entrant : entrants_) {
      for (int i = 0; i < warmup_steps(entrant) && entrant.alive(); ++i) {
        entrant.spent_seconds += timed_step(entrant);
        if (entrant.spent_seconds > options_.max_seconds) break;
      }
      entrant.spent_seconds = 0;
    }
  }

  /// Each repetition starts with another contender, so that none always follows the same one.
  void measure_all(int repetition) {
    const auto count = entrants_.size();
    for (std::size_t i = 0; i < count; ++i) {
      auto& entrant = entrants_[(i + static_cast<std::size_t>(repetition)) % count];
      if (entrant.alive()) measure(entrant);
      ++steps_done_;
      if (world_rank() == 0 && progress_)
        progress_(steps_done_, options_.repeat * static_cast<int>(count), operation_,
                  entrant.result.contender);
    }
  }

  void measure(Entrant& entrant) {
    const auto generation =
        operation_ == Operation::write ? options_.seed + ++generation_ : options_.seed;
    if (operation_ == Operation::write)
      fill_buffer(program_, buffer_.data(), generation);
    else
      buffer_.clear();
    if (options_.fresh) renew(entrant);
    if (options_.drop_caches) drop_caches(entrant);
    if (!entrant.alive()) return;
    const double seconds = timed_step(entrant);
    if (!entrant.result.error.empty()) return;
    entrant.result.seconds.push_back(seconds);
    entrant.result.strategy = entrant.contender->info("choir_strategy");
    entrant.result.reason = entrant.contender->info("choir_reason");
    entrant.spent_seconds += seconds;
    if (options_.verify && entrant.contender->same_bytes()) verify(entrant, generation);
    if (entrant.spent_seconds > options_.max_seconds) entrant.result.stopped_early = true;
  }

  /// First rank in to last rank out; equal on all ranks.
  double timed_step(Entrant& entrant) {
    check(MPI_Barrier(MPI_COMM_WORLD));
    const double begin = now_seconds();
    const auto error = entrant.contender->step(operation_, program_, buffer_.data());
    const double end = now_seconds();
    const double seconds = options_.clock == Clock::common ? agree_max(end) + agree_max(-begin)
                                                           : agree_max(end - begin);
    fail(entrant, error);
    return seconds;
  }

  /// A new file for the next repetition: its pages and blocks do not exist yet.
  void renew(Entrant& entrant) {
    if (operation_ != Operation::write) return;
    fail(entrant, entrant.contender->close());
    entrant.open = false;
    claim(entrant.path);
    if (entrant.result.error.empty()) open(entrant);
  }

  /// Empties the page cache: the whole one where permitted, else this file's pages.
  void drop_caches(Entrant& entrant) {
    const auto text = text_of_failure([&] {
      const Descriptor file(entrant.path, O_RDONLY);
      if (fsync(file.get()) != 0) throw std::system_error(errno, std::generic_category(), "fsync");
      posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
      const int all = ::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
      if (all < 0) return;
      [[maybe_unused]] const auto written =
          ::write(all, "1", 1);  // refused: the file's pages must do
      ::close(all);
    });
    fail(entrant, text);
    check(MPI_Barrier(MPI_COMM_WORLD));
  }

  void verify(Entrant& entrant, std::uint64_t generation) {
    if (!one_host_ && operation_ == Operation::write) fail(entrant, entrant.contender->flush());
    std::int64_t wrong = -1;
    const auto text = text_of_failure([&] { wrong = first_wrong_offset(entrant, generation); });
    check(MPI_Barrier(MPI_COMM_WORLD));
    fail(entrant, wrong < 0 ? text : fmt::format("wrong byte at file offset {}", wrong));
    entrant.result.verified = entrant.result.error.empty();
  }

  std::int64_t first_wrong_offset(const Entrant& entrant, std::uint64_t generation) {
    if (operation_ == Operation::read) return check_buffer(program_, buffer_.data(), generation);
    const Descriptor file(entrant.path, O_RDONLY);
    if (!dense_) return check_file_pieces(file.get(), program_, generation);
    const auto [begin, end] = own_share(file_end_);  // no holes: any rank can check any part
    return check_file_range(file.get(), begin, end, generation);
  }

  Operation operation_;
  const Program& program_;
  const DriverOptions& options_;
  const Progress& progress_;
  Buffer buffer_;
  std::int64_t file_end_;
  bool dense_;
  bool one_host_;
  int job_;  // tells the files of concurrent jobs apart
  std::uint64_t generation_ = 0;
  int steps_done_ = 0;
  std::vector<Entrant> entrants_;
};

}  // namespace

bool on_one_host() {
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  int size = 0;
  check(MPI_Comm_size(node, &size));
  check(MPI_Comm_free(&node));
  return agree_max(static_cast<std::int64_t>(world_size() - size)) == 0;
}

std::vector<Result> run_operation(Operation operation, const Program& program,
                                  const DriverOptions& options, const Progress& progress) {
  return Run(operation, program, options, progress).execute();
}

}  // namespace choir::bench
