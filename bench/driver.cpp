// driver.cpp: see driver.hpp.
#include "driver.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "job.hpp"
#include "leftovers.hpp"
#include "pattern.hpp"

namespace choir::bench {

namespace {

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

  void warm_up() {
    fill_buffer(program_, buffer_.data(), options_.seed);
    for (auto& entrant : entrants_) {
      for (int i = 0; i < options_.warmup && entrant.alive(); ++i) {
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
    const auto error = entrant.contender->step(operation_, program_, buffer_.data(), 0);
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

std::vector<Result> run_operation(Operation operation, const Program& program,
                                  const DriverOptions& options, const Progress& progress) {
  return Run(operation, program, options, progress).execute();
}

}  // namespace choir::bench
