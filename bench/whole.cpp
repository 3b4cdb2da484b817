// whole.cpp: see whole.hpp.
#include "whole.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "leftovers.hpp"
#include "pattern.hpp"
#include "workload.hpp"

namespace choir::bench {

namespace {

/// A view whose tile is one step repeats with the step; one of plain bytes is moved on by offsets.
/// Returns the bytes of the file from one step to the next.
std::int64_t make_repeatable(Program& program) {
  /// All etypes here are powers of two, or the elements of `tile`, which its steps are made of.
  constexpr std::int64_t kWord = 8;
  const auto end = agree_max(program.file_end());
  const auto span = program.step_bytes > 0 ? program.step_bytes : (end + kWord - 1) / kWord * kWord;
  std::vector<std::int64_t> etypes(program.views.size());
  for (std::size_t v = 0; v < program.views.size(); ++v) {
    auto& view = program.views[v];
    int etype_bytes = 0, tile_bytes = 0;
    check(MPI_Type_size(view.etype, &etype_bytes));
    check(MPI_Type_size(view.filetype, &tile_bytes));
    if (span % etype_bytes != 0)
      throw Unsuitable("steps of this workload cannot follow one another");
    if (view.filetype == view.etype) {
      etypes[v] = span / etype_bytes;
      continue;
    }
    MPI_Datatype tile = MPI_DATATYPE_NULL;
    check(MPI_Type_create_resized(view.filetype, 0, span, &tile));
    view.filetype = program.keep(tile);
    etypes[v] = tile_bytes / etype_bytes;
  }
  for (auto& call : program.calls) call.step_offset = etypes[call.view];
  return span;
}

/// When each part of a file's life was over, on this rank's clock.
struct Moments {
  double begin = 0, opened = 0, called = 0, synced = 0, closed = 0;
};

class WholeRun {
 public:
  WholeRun(Program& program, const WholeOptions& options)
      : program_(program),
        options_(options),
        buffer_(program.buffer_bytes, 0),
        job_(job_number()),
        step_bytes_(make_repeatable(program)),
        whole_bytes_(agree_max(program.file_end()) + step_bytes_ * (options.steps - 1)) {
    fill_buffer(program_, buffer_.data(), options_.seed);
  }

  std::vector<FileTime> execute() {
    for (const auto& mode : options_.modes) {
      const int files = mode == "files" ? options_.files : 1;
      if (mode == "read") prepare(shared(), whole_bytes_, options_.seed);
      if (mode == "rewritten")
        for (std::size_t i = 0; i < options_.contenders.size(); ++i)
          prepare(path(mode, i, 0), agree_max(program_.file_end()), options_.seed + 1);
      for (int file = 0; file < files; ++file) each_in_turn(mode, file, file == files - 1);
    }
    // Files stay until all are measured, so that nobody gets the memory of another's.
    check(MPI_Barrier(MPI_COMM_WORLD));
    for (const auto& name : made_) {
      if (world_rank() == 0) ::unlink(name.c_str());
      forget_leftover(name);
    }
    return std::move(times_);
  }

 private:
  std::string shared() const {
    return fmt::format("{}/choir-whole-{}-shared.dat", options_.directory, job_);
  }

  std::string path(const std::string& mode, std::size_t contender, int file) const {
    return fmt::format("{}/choir-whole-{}-{}-{}-{}.dat", options_.directory, job_, mode, contender,
                       file);
  }

  void claim(const std::string& name) {
    note_leftover(name);
    made_.push_back(name);
  }

  /// A file that is there: all its bytes are in the page cache.
  void prepare(const std::string& name, std::int64_t bytes, std::uint64_t generation) {
    claim(name);
    const auto text = agree_text(text_of_failure([&] { write_share(name, bytes, generation); }));
    if (!text.empty()) throw std::runtime_error("cannot prepare a file: " + text);
  }

  /// Each file starts with another contender.
  void each_in_turn(const std::string& mode, int file, bool last) {
    const auto count = options_.contenders.size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto which = (i + static_cast<std::size_t>(file + options_.turn)) % count;
      const bool sync = options_.sync && last && mode != "read";
      times_.push_back(measure(mode, which, file, sync));
    }
  }

  FileTime measure(const std::string& mode, std::size_t which, int file, bool sync) {
    const auto operation = mode == "read" ? Operation::read : Operation::write;
    const auto name = mode == "read" ? shared() : path(mode, which, file);
    if (mode == "files" || mode == "calls") claim(name);
    FileTime time;
    time.mode = mode;
    time.contender = options_.contenders[which];
    time.file = file;
    const auto contender = make_contender(time.contender, {});
    if (operation == Operation::read) buffer_.clear();
    std::string mine;
    check(MPI_Barrier(MPI_COMM_WORLD));
    const auto moments = live(*contender, mode, name, sync, time, mine);
    book(moments, time);
    if (options_.verify && mine.empty() && contender->same_bytes())
      mine = text_of_failure([&] { verify(operation, name); });
    time.error = agree_text(mine);
    if (operation == Operation::read) fill_buffer(program_, buffer_.data(), options_.seed);
    return time;
  }

  /// The part that is timed. An error is in `mine` and goes no further here: all ranks go on.
  Moments live(Contender& contender, const std::string& mode, const std::string& name, bool sync,
               FileTime& time, std::string& mine) {
    const auto operation = mode == "read" ? Operation::read : Operation::write;
    const int steps = mode == "files" ? 1 : options_.steps;
    const auto keep = [&](const std::string& text) {
      if (mine.empty()) mine = text;
    };
    Moments at;
    at.begin = now_seconds();
    keep(contender.open(name, operation));
    if (!mine.empty()) throw std::runtime_error(mine);  // it fails on all ranks, or the job ends
    keep(contender.view(program_));
    at.opened = now_seconds();
    for (int step = 0; step < steps; ++step)
      keep(contender.step(operation, program_, buffer_.data(), mode == "rewritten" ? 0 : step));
    at.called = now_seconds();
    if (sync) keep(contender.flush());
    at.synced = now_seconds();
    time.strategy = contender.info("choir_strategy");
    const double asked = now_seconds() - at.synced;
    keep(contender.close());
    at.closed = now_seconds() - asked;
    return at;
  }

  /// With one clock a part lasts from the last rank out of the part before to its own last rank
  /// out, so that the parts add up; else it is the longest of any rank.
  void book(const Moments& at, FileTime& time) const {
    if (options_.clock == Clock::elapsed) {
      time.open_s = agree_max(at.opened - at.begin);
      time.calls_s = agree_max(at.called - at.opened);
      time.sync_s = agree_max(at.synced - at.called);
      time.close_s = agree_max(at.closed - at.synced);
      return;
    }
    const double begin = -agree_max(-at.begin), opened = agree_max(at.opened);
    const double called = agree_max(at.called), synced = agree_max(at.synced);
    time.open_s = opened - begin;
    time.calls_s = called - opened;
    time.sync_s = synced - called;
    time.close_s = agree_max(at.closed) - synced;
  }

  /// What the first step wrote, read with plain pread; what the last step read, in the buffer.
  void verify(Operation operation, const std::string& name) {
    std::int64_t wrong = -1;
    if (operation == Operation::write) {
      const Descriptor file(name, O_RDONLY);
      wrong = check_file_pieces(file.get(), program_, options_.seed);
    } else {
      const auto shift = step_bytes_ * (options_.steps - 1);
      move_pieces(shift);
      wrong = check_buffer(program_, buffer_.data(), options_.seed);
      move_pieces(-shift);
    }
    if (wrong >= 0) throw std::runtime_error(fmt::format("wrong byte at file offset {}", wrong));
  }

  void move_pieces(std::int64_t bytes) {
    for (auto& call : program_.calls)
      for (auto& piece : call.file) piece.offset += bytes;
  }

  Program& program_;
  const WholeOptions& options_;
  Buffer buffer_;
  int job_;  // tells the files of concurrent jobs apart
  std::int64_t step_bytes_;
  std::int64_t whole_bytes_;
  std::vector<std::string> made_;
  std::vector<FileTime> times_;
};

}  // namespace

const std::vector<std::string>& whole_modes() {
  static const std::vector<std::string> names{"files", "calls", "rewritten", "read"};
  return names;
}

std::vector<FileTime> run_whole(Program& program, const WholeOptions& options) {
  return WholeRun(program, options).execute();
}

std::string table_of(const std::vector<FileTime>& times) {
  auto text =
      fmt::format("  {:<10}{:<22}{:>5}{:>11}{:>11}{:>11}{:>11}{:>11}  {}\n", "mode", "contender",
                  "file", "open ms", "calls ms", "close ms", "total ms", "sync ms", "strategy");
  for (const auto& time : times)
    text += fmt::format("  {:<10}{:<22}{:>5}{:>11.3f}{:>11.3f}{:>11.3f}{:>11.3f}{:>11.3f}  {}\n",
                        time.mode, time.contender, time.file, time.open_s * 1e3, time.calls_s * 1e3,
                        time.close_s * 1e3, time.total_s() * 1e3, time.sync_s * 1e3,
                        time.error.empty() ? time.strategy : "FAILED: " + time.error);
  return text;
}

nlohmann::json json_of(const std::vector<FileTime>& times) {
  auto all = nlohmann::json::array();
  for (const auto& time : times)
    all.push_back({{"mode", time.mode},
                   {"contender", time.contender},
                   {"file", time.file},
                   {"open_s", time.open_s},
                   {"calls_s", time.calls_s},
                   {"sync_s", time.sync_s},
                   {"close_s", time.close_s},
                   {"strategy", time.strategy},
                   {"error", time.error}});
  return all;
}

}  // namespace choir::bench
