#include "engine/mapped.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "engine/direct.hpp"
#include "engine/guarded.hpp"

namespace choir {
namespace {

constexpr std::int64_t page = 4096;
/// One poll copies at most this much, so that nonblocking calls stay pollable.
constexpr std::int64_t chunk_bytes = std::int64_t{4} << 20;

/// Calls in which a rank writes less than this find much of it in the cache of their core the next
/// time.
constexpr std::int64_t least_streamed_write = std::int64_t{64} << 10;

/// This core's part of the last cache: a read buffer beyond it cannot be there when the read
/// begins.
std::int64_t cache_share() {
  static const std::int64_t share = [] {
    const auto bytes = sysconf(_SC_LEVEL3_CACHE_SIZE), cores = sysconf(_SC_NPROCESSORS_CONF);
    return bytes > 0 && cores > 0 ? bytes / cores : std::int64_t{4} << 20;
  }();
  return share;
}

/// The pages of a file are written past the caches: nobody reads them soon. A read buffer that was
/// just written is better left where it is: stores past the cache would have to push it out first.
std::int64_t least_streamed(Operation operation) {
  return operation == Operation::write ? least_streamed_write : cache_share();
}

Stores stores_for(const Context& c) {
  return c.access.bytes() >= least_streamed(c.operation) ? Stores::streaming : Stores::cached;
}

/// Of this thread, so far.
std::int64_t minor_faults() {
  rusage used{};
  return getrusage(RUSAGE_THREAD, &used) == 0 ? used.ru_minflt : 0;
}

class Mapped final : public Task {
 public:
  explicit Mapped(Context& context)
      : c_(context),
        mapping_(context.file.mapping()),
        next_(context.access.begin),
        end_(context.access.end) {
    catch_bus_errors();
  }

  bool done() const override { return finished_; }

  bool poll() override {
    if (finished_) return false;
    if (!by_requests_.empty()) return poll_requests();
    if (!prepared_)
      prepare();
    else
      copy_chunk();
    finished_ = by_requests_.empty() && (next_ >= end_ || c_.error != 0);
    return true;
  }

 private:
  /// All of the rank's bytes, those that were stored already among them.
  void go_by_requests() { add_direct(c_, by_requests_); }
  bool poll_requests() {
    const bool advanced = by_requests_.front()->poll();
    finished_ = by_requests_.front()->done();
    return advanced;
  }

  void prepare() {
    prepared_ = true;
    if (c_.access.bytes() == 0) return;
    int error = 0;
    fd_ = c_.file.descriptor(error);
    if (fd_ < 0) return c_.fail(error);
    const auto started = c_.clock();
    if (c_.operation == Operation::write)
      reserve();
    else
      limit_to_file();
    c_.traffic.storage_ns += c_.clock() - started;
  }

  /// Holes that cost more to leave out than to fill get blocks too; others stay holes.
  void reserve() {
    constexpr std::int64_t small_hole = 64 << 10;
    had_blocks_ = mapping_.is_reserved(fd_, c_.access.span());
    if (had_blocks_) return;
    Extent part;
    const auto take = [&](Extent next) {
      if (!part.empty() && next.begin - part.end < small_hole) {
        part.end = next.end;
        return;
      }
      reserve(part);
      part = next;
    };
    visit_runs(c_.access.file, c_.access.begin, c_.access.end, [&](const Run& run) {
      if (run.count == 1 || run.stride - run.length < small_hole)
        return take({run.offset, run.end()});
      for (std::int64_t i = 0; i < run.count; ++i) take({run.block(i), run.block(i) + run.length});
    });
    reserve(part);
  }
  void reserve(Extent part) {
    if (part.empty() || c_.error != 0 || !by_requests_.empty()) return;
    const int error = mapping_.reserve(fd_, part);
    if (error == EOPNOTSUPP) return go_by_requests();
    if (error != 0) c_.fail(error);
  }

  void limit_to_file() {
    const auto size = mapping_.size(fd_);
    if (size < 0) return c_.fail(errno);
    if (c_.access.span().end <= size) return;
    c_.met_end_of_file(size);
    end_ = std::max(c_.access.begin, std::min(end_, c_.access.file.position_of(size)));
  }

  void copy_chunk() {
    const auto started = c_.clock();
    const auto begin = c_.access.file.offset_of(next_);
    const auto view = mapping_.view(fd_, begin);
    if (view.base == nullptr) return go_by_requests();
    const auto range = intersect(view.range, {begin, begin - begin % page + chunk_bytes});
    const auto part = intersect(c_.access.clip(range), {next_, end_});
    const auto last = c_.access.file.offset_of(part.end - 1) + 1;
    if (c_.operation == Operation::write && last - begin >= FileMapping::block_bytes &&
        touches_most_pages(part.size(), last - begin))
      make_writable(view, {begin, last});
    const auto direction =
        c_.operation == Operation::write ? Direction::to_window : Direction::from_window;
    const auto copy = [&] {
      copy_window(direction, c_.access, part.begin, part.end, c_.memory, view.base, stores_for(c_));
    };
    if (!guarded(view, copy)) c_.fail(EIO);
    look_at_faults();
    next_ = part.end;
    c_.traffic.storage_bytes += part.size();
    ++c_.traffic.cycles;
    c_.traffic.exchange_ns += c_.clock() - started;
  }

  /// Pages of new ground are made one by one, which is faster in one go. Those that are in memory
  /// may come in blocks; the first stores to some find out.
  void make_writable(const FileMapping::View& view, Extent part) {
    if (!had_blocks_ || !mapping_.faults_bring_blocks().value_or(true))
      return mapping_.populate(view, part);
    const auto left = mapping_.leave_to_faults(view, part);
    if (left == 0 || mapping_.faults_bring_blocks()) return;
    watched_bytes_ = left;
    faults_before_ = minor_faults();
  }
  void look_at_faults() {
    if (watched_bytes_ == 0) return;
    mapping_.note_faults(watched_bytes_, minor_faults() - faults_before_);
    watched_bytes_ = 0;
  }

  /// Whether `bytes` of this rank in a stretch of `extent` bytes leave few pages alone: only then
  /// all its pages may be made present, since that makes them dirty too.
  bool touches_most_pages(std::int64_t bytes, std::int64_t extent) const {
    const auto mean = c_.access.bytes() / std::max<std::int64_t>(1, c_.access.pieces());
    const auto pieces = bytes / std::max<std::int64_t>(1, mean) + 1;
    const auto pages = pieces * (mean / page + 1);
    return 2 * pages >= extent / page;
  }

  Context& c_;
  FileMapping& mapping_;
  Tasks by_requests_;  ///< in place of the mapping; at most one
  int fd_ = -1;
  std::int64_t next_, end_;
  bool prepared_ = false;
  bool had_blocks_ = false;  ///< where it writes, and so its pages may be there already
  bool finished_ = false;
  std::int64_t watched_bytes_ = 0;  ///< that are about to be stored to for the first time, ...
  std::int64_t faults_before_ = 0;  ///< ... and how many page faults there had been
};

}  // namespace

void add_mapped(Context& context, Tasks& tasks) {
  tasks.push_back(std::make_unique<Mapped>(context));
}

}  // namespace choir
