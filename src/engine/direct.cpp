#include "engine/direct.hpp"

#include <algorithm>

#include "mpi/error.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

constexpr std::int64_t most_pieces_at_once = 4096;
constexpr std::int64_t most_bytes_at_once = std::int64_t{16} << 20;

/// Writers of a local file queue for these sizes: a single small write is over before waiting
/// helps; of a large one copying is the most, and others would wait for long.
constexpr std::int64_t least_queued = std::int64_t{16} << 10, most_queued = std::int64_t{1} << 20;

/// Rank r may enter storage once rank r - k has left: a token passed along k chains, no barrier.
class Turn {
 public:
  explicit Turn(Context& context) : c_(context) {
    if (c_.plan.concurrent == 0 || predecessor() < 0 || local(predecessor())) return;
    check(
        PMPI_Irecv(nullptr, 0, MPI_BYTE, predecessor(), token_tag, c_.room.comm.get(), &receive_));
    waiting_ = true;
  }

  bool mine() {
    if (c_.plan.concurrent == 0 || predecessor() < 0) return true;
    if (local(predecessor()))
      return c_.arena().token(c_.hood.local_of(predecessor())).load(std::memory_order_acquire) >
             c_.call;
    if (waiting_) {
      int arrived = 0;
      check(REAL(Test)(&receive_, &arrived, MPI_STATUS_IGNORE));
      waiting_ = arrived == 0;
    }
    return !waiting_;
  }

  void pass() {
    if (c_.plan.concurrent == 0) return;
    c_.arena().token(c_.hood.local()).store(c_.call + 1, std::memory_order_release);
    if (successor() >= c_.hood.topology().ranks()) return;
    if (local(successor()))
      ring(c_.arena().bell(c_.hood.local_of(successor())));
    else
      check(PMPI_Isend(nullptr, 0, MPI_BYTE, successor(), token_tag, c_.room.comm.get(), &send_));
    sending_ = send_ != MPI_REQUEST_NULL;
  }

  bool passed() {
    if (!sending_) return true;
    int left = 0;
    check(REAL(Test)(&send_, &left, MPI_STATUS_IGNORE));
    sending_ = left == 0;
    return !sending_;
  }

 private:
  int predecessor() const { return c_.hood.rank() - c_.plan.concurrent; }
  int successor() const { return c_.hood.rank() + c_.plan.concurrent; }
  bool local(int rank) const { return c_.hood.topology().node_of(rank) == c_.hood.node(); }

  Context& c_;
  MPI_Request receive_ = MPI_REQUEST_NULL, send_ = MPI_REQUEST_NULL;
  bool waiting_ = false, sending_ = false;
};

class Direct final : public Task {
 public:
  explicit Direct(Context& context) : c_(context), turn_(context), next_(context.access.begin) {
    const auto pieces = std::max<std::int64_t>(1, c_.access.pieces());
    const auto mean = std::max<std::int64_t>(1, c_.access.bytes() / pieces);
    step_ = std::min(most_bytes_at_once, std::max(mean, mean * most_pieces_at_once));
  }

  bool done() const override { return phase_ == Phase::done; }

  bool poll() override {
    switch (phase_) {
      case Phase::waiting:
        if (!turn_.mine()) return false;
        phase_ = Phase::moving;
        return true;
      case Phase::moving:
        return move();
      case Phase::leaving:
        if (!turn_.passed()) return false;
        phase_ = Phase::done;
        return true;
      case Phase::done:
        return false;
    }
    return false;
  }

 private:
  enum class Phase { waiting, moving, leaving, done };

  bool move() {
    int error = 0;
    Storage* const storage = c_.access.bytes() > 0 ? c_.file.storage(error) : nullptr;
    if (storage == nullptr) {
      if (c_.access.bytes() > 0) c_.fail(error);
      return leave();
    }
    if (busy_) {
      if (!storage->poll(job_)) return false;
      finish_job();
    } else if (next_ < c_.access.end && c_.error == 0 && !at_end_of_file_) {
      const auto started = c_.clock();
      collect();
      {
        const Passage passage(gate());
        busy_ = !storage->start_here(job_);
      }
      c_.traffic.storage_ns += c_.clock() - started;
      if (!busy_) finish_job();
    } else {
      return leave();
    }
    return true;
  }

  Gate* gate() {
    const auto bytes = c_.access.bytes();
    const bool queues = c_.operation == Operation::write && bytes >= least_queued &&
                        bytes <= most_queued && c_.file.is_local() && c_.hood.local_ranks() > 1 &&
                        !c_.hood.crowded();
    return queues ? &c_.arena().gate() : nullptr;
  }

  bool leave() {
    turn_.pass();
    phase_ = Phase::leaving;
    return true;
  }

  /// The next transfers: every file block, in as many parts as the memory has.
  void collect() {
    job_ = Job{.operation = c_.operation};
    const auto end = std::min(c_.access.end, next_ + step_);
    auto position = next_ - c_.access.begin;
    visit_runs(c_.access.file, next_, end, [&](const Run& run) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        add_block(run.block(i), position, run.length);
        position += run.length;
      }
    });
    next_ = end;
  }

  void add_block(std::int64_t offset, std::int64_t position, std::int64_t length) {
    visit_runs(c_.memory.layout, position, position + length, [&](const Run& run) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        job_.transfers.push_back({offset, reinterpret_cast<char*>(run.block(i)), run.length});
        offset += run.length;
      }
    });
  }

  void finish_job() {
    busy_ = false;
    if (job_.error != 0) c_.fail(job_.error);
    c_.traffic.count_job(job_);
    if (job_.end_of_file != no_end_of_file) {
      at_end_of_file_ = true;
      c_.met_end_of_file(job_.end_of_file);
    }
  }

  Context& c_;
  Turn turn_;
  std::int64_t next_;
  std::int64_t step_ = 0;
  Phase phase_ = Phase::waiting;
  Job job_;
  bool busy_ = false;
  bool at_end_of_file_ = false;
};

}  // namespace

void add_direct(Context& context, Tasks& tasks) {
  tasks.push_back(std::make_unique<Direct>(context));
}

}  // namespace choir
