// arena.hpp: the shared memory of one node for one open file: ballots, bells and cycle buffers.
//
// A POSIX shared-memory object, reserved in full when it is made (so that a small /dev/shm is an
// error at open, not a SIGBUS in the middle of a checkpoint) and unlinked as soon as every rank of
// the node has it mapped (so that a killed job leaves nothing behind).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/doorbell.hpp"
#include "engine/gate.hpp"
#include "plan/plan.hpp"

namespace choir {

/// What a rank asks for in a call, as everyone learns it. Of a new pattern these 64 bytes travel to
/// every node.
struct alignas(64) Ballot {
  std::int64_t low = 0, high = 0, bytes = 0;
  std::uint64_t hash = 0;  ///< of the rank's relative pattern
  std::uint64_t pieces : 48 = 0;
  std::uint64_t grain_exponent : 8 = 0;
  std::uint64_t shape_kind : 8 = 0;
  std::array<std::uint64_t, 3> shape_words{};

  std::int64_t grain() const { return std::int64_t{1} << grain_exponent; }
  RankSummary summary() const {
    return {low, high, bytes, {static_cast<Shape::Kind>(shape_kind), shape_words}};
  }
};
static_assert(sizeof(Ballot) == 64);

/// What a rank brings to the closing of a call.
struct alignas(64) Outcome {
  std::int32_t error = 0;  ///< an MPI error class
  std::int32_t reserved = 0;
  std::int64_t end_of_file = 0;
  std::int64_t elapsed_ns = 0;
  // By the node's clock, if the time of the whole call shall count.
  std::int64_t began_ns = 0, ended_ns = 0;

  /// The verdict of two ranks: the worse error, the lower end of file, the longer time.
  void add(const Outcome& other) {
    error = std::max(error, other.error);
    end_of_file = std::min(end_of_file, other.end_of_file);
    elapsed_ns = std::max(elapsed_ns, other.elapsed_ns);
    began_ns = std::max(began_ns, other.began_ns);
    ended_ns = std::max(ended_ns, other.ended_ns);
  }
  /// From the last to begin until the last to end: nobody's lateness is part of it.
  std::int64_t whole_ns() const { return ended_ns - began_ns; }
};
static_assert(sizeof(Outcome) == 64);

/// What a rank brings to the opening besides; it stays on its node.
struct VoteContent {
  std::uint64_t plan_name = 0;  ///< the cached plan the rank thinks fits; 0: none
  std::int64_t shift = 0;       ///< how far that plan must move
  std::int32_t objection = 0;   ///< as Objection::number() says it
  bool asks = false;            ///< for any byte at all
  std::uint16_t ran_ahead = 0;  ///< 1 + the strategy by which the rank has moved its bytes already
  std::uint32_t fingerprint = 0;  ///< of what the rank knows of strategies
  // How that went.
  std::int32_t early_error = 0;
  std::int64_t early_end_of_file = 0;
  std::int64_t early_elapsed_ns = 0;

  Outcome early() const { return {early_error, 0, early_end_of_file, early_elapsed_ns, 0, 0}; }
  void set_early(const Outcome& outcome) {
    early_error = outcome.error;
    early_end_of_file = outcome.end_of_file;
    early_elapsed_ns = outcome.elapsed_ns;
  }
};

/// What the others of the node have to hear of a rank, in one cache line.
struct alignas(64) Vote : VoteContent {
  /// 1 + the number of the meeting this is the vote of, written last. The others look at it until
  /// it changes, and the vote has come with it.
  std::uint64_t arrived = 0;
  std::atomic_ref<std::uint64_t> arrival() { return std::atomic_ref(arrived); }
  /// Processors fetch lines in pairs: the next vote is not beside this one.
  std::array<char, 64> apart{};
};
static_assert(sizeof(Vote) == 128);

/// One of the two cycle buffers of a seat. Its owner opens it for a window; the others place or
/// take bytes.
struct alignas(64) SeatBuffer {
  std::atomic<std::uint64_t> open{0};  ///< ticket of the window that may be placed into or marked
  std::atomic<std::uint64_t> full{0};  ///< ticket of the window that may be read
  std::atomic<std::uint32_t> marked{0};
  std::atomic<std::uint32_t> arrived{0};
  std::atomic<std::uint32_t> expected{0};
  std::atomic<std::int64_t> end_of_file{0};  ///< bytes from here on were not read

  /// After a call, by the owner: everybody has used its tickets. The next meeting tells the others.
  void take_down() {
    open.store(0, std::memory_order_relaxed);
    full.store(0, std::memory_order_relaxed);
  }
};

struct alignas(64) Board {
  std::atomic<std::uint64_t> opened{0};  ///< arrivals of all calls so far
  std::atomic<std::uint64_t> closed{0};
  std::atomic<std::uint64_t> opening_published{0};  ///< by the node's leader, several nodes only
  std::atomic<std::uint64_t> closing_published{0};
  std::atomic<std::uint32_t> plan_is_known{0};
  std::atomic<std::uint32_t> same_knowledge{0};
  Outcome verdict;
};

struct ArenaShape {
  int local_ranks = 1;
  int ranks = 1;
  int seats = 1;
  std::int64_t capacity = 0;  ///< bytes of one cycle buffer

  std::int64_t coverage_bytes() const { return capacity / 8 + 256; }
};

class Arena {
 public:
  /// Collective over `node`. Throws MpiError(MPI_ERR_NO_MEM) on every rank if the memory is not to
  /// be had.
  Arena(MPI_Comm node, const ArenaShape& shape);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Board& board() { return *at<Board>(board_); }
  Gate& gate() { return *at<Gate>(gate_); }
  Bell& bell(int local) { return at<Bell>(bells_)[local]; }
  /// Ballots of all ranks of the job, in rank order, for calls of even and odd number.
  Ballot* ballots(int parity) {
    return at<Ballot>(ballots_) + static_cast<std::int64_t>(parity) * shape_.ranks;
  }
  Vote& vote(int parity, int local) {
    return at<Vote>(votes_)[static_cast<std::int64_t>(parity) * shape_.local_ranks + local];
  }
  Outcome& outcome(int parity, int local) {
    return at<Outcome>(outcomes_)[static_cast<std::int64_t>(parity) * shape_.local_ranks + local];
  }
  /// Token words of scheduled_individual: the number of the last call in which a rank was in
  /// storage.
  std::atomic<std::uint64_t>& token(int local) {
    return at<std::atomic<std::uint64_t>>(tokens_)[8 * local];
  }
  SeatBuffer& control(int seat, int buffer) { return at<SeatBuffer>(controls_)[2 * seat + buffer]; }
  char* data(int seat, int buffer) { return base_ + data_ + (2 * seat + buffer) * shape_.capacity; }
  std::uint64_t* coverage(int seat, int buffer) {
    return at<std::uint64_t>(coverage_ + (2 * seat + buffer) * shape_.coverage_bytes());
  }
  const ArenaShape& shape() const { return shape_; }

 private:
  template <class T>
  T* at(std::int64_t offset) {
    return reinterpret_cast<T*>(base_ + offset);
  }
  void lay_out();

  ArenaShape shape_;
  std::int64_t board_ = 0, gate_ = 0, bells_ = 0, ballots_ = 0, votes_ = 0, outcomes_ = 0,
               tokens_ = 0, controls_ = 0, data_ = 0, coverage_ = 0, size_ = 0;
  char* base_ = nullptr;
};

}  // namespace choir
