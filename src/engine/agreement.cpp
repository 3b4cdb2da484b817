#include "engine/agreement.hpp"

#include <algorithm>
#include <limits>

#include "mpi/error.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

constexpr auto highest = std::numeric_limits<std::int64_t>::max();

}  // namespace

bool finished(MPI_Request& request) {
  int done = 0;
  check(REAL(Test)(&request, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

void arrive(Neighbourhood& hood, Room& room, std::atomic<std::uint64_t>& counter,
            std::uint64_t number) {
  const auto before = counter.fetch_add(1, std::memory_order_acq_rel);
  const auto full = static_cast<std::uint64_t>(hood.local_ranks()) * (number + 1);
  if (before + 1 != full) return;
  if (hood.one_node())
    ring_all(hood, room);
  else
    ring(room.arena->bell(0));
}

bool complete(const Neighbourhood& hood, const std::atomic<std::uint64_t>& counter,
              std::uint64_t number) {
  return counter.load(std::memory_order_acquire) >=
         static_cast<std::uint64_t>(hood.local_ranks()) * (number + 1);
}

void ring_all(Neighbourhood& hood, Room& room) {
  for (int local = 0; local < hood.local_ranks(); ++local)
    if (local != hood.local()) ring(room.arena->bell(local));
}

namespace {

/// The same after a barrier of one's own.
void ring_sleepers(Neighbourhood& hood, Room& room) {
  for (int local = 0; local < hood.local_ranks(); ++local)
    if (local != hood.local() && has_sleepers(room.arena->bell(local)))
      ring(room.arena->bell(local));
}

}  // namespace

Opening::Opening(Neighbourhood& hood, Room& room, const Ballot& mine, const VoteContent& vote)
    : hood_(hood),
      room_(room),
      ranks_(hood.topology().ranks()),
      local_ranks_(hood.local_ranks()),
      number_(room.calls++),
      parity_(static_cast<int>(number_ % 2)),
      votes_(&room.arena->vote(parity_, 0)) {
  room.arena->ballots(parity_)[hood.rank()] = mine;
  count_arrivals();
  auto& slot = votes_[hood.local()];
  static_cast<VoteContent&>(slot) = vote;  // what others look at meanwhile is left alone
  arrive_by_vote(slot);
}

/// The meetings of joint calls have a counter, which has to know of ours too. Its leader is alone
/// with it: all have left the meeting before, and nobody comes to the next one before the leader
/// has voted in this one.
void Opening::count_arrivals() {
  if (!hood_.is_leader()) return;
  auto& counter = room_.arena->board().opened;
  counter.store(counter.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(local_ranks_),
                std::memory_order_release);
}

/// Of two that arrive last at the same time, at least one sees everybody here.
void Opening::arrive_by_vote(Vote& slot) {
  slot.arrival().store(number_ + 1, std::memory_order_release);
  full_barrier();
  if (!all_arrived()) return;
  if (hood_.one_node())
    ring_sleepers(hood_, room_);
  else if (!hood_.is_leader())
    ring(room_.arena->bell(0));
}

bool Opening::all_arrived() {
  while (arrived_ < local_ranks_ &&
         votes_[arrived_].arrival().load(std::memory_order_acquire) == number_ + 1)
    ++arrived_;
  return arrived_ == local_ranks_;
}

Opening::Common Opening::local_common() const {
  Common common{highest, highest, highest, highest, 0, highest, highest};
  for (int local = 0; local < local_ranks_; ++local) {
    const auto& vote = votes_[local];
    const auto name = static_cast<std::int64_t>(vote.plan_name >> 1);
    common.low_name = std::min(common.low_name, name);
    common.low_negated_name = std::min(common.low_negated_name, -name);
    common.negated_objection = std::min<std::int64_t>(common.negated_objection, -vote.objection);
    const std::int64_t fingerprint = vote.fingerprint;
    common.low_fingerprint = std::min(common.low_fingerprint, fingerprint);
    common.low_negated_fingerprint = std::min(common.low_negated_fingerprint, -fingerprint);
    if (!vote.asks) continue;  // fits any shift
    common.low_shift = std::min(common.low_shift, vote.shift);
    common.low_negated_shift = std::min(common.low_negated_shift, -vote.shift);
  }
  return common;
}

void Opening::conclude(const Common& common) {
  objection_ = static_cast<std::int32_t>(-common.negated_objection);
  const bool same_name = common.low_name != 0 && common.low_name == -common.low_negated_name;
  const bool nobody_asks = common.low_shift == highest;
  known_ = same_name && (nobody_asks || common.low_shift == -common.low_negated_shift);
  shift_ = nobody_asks ? 0 : common.low_shift;
  same_knowledge_ = common.low_fingerprint == -common.low_negated_fingerprint;
}

/// On one node only: elsewhere a rank that runs ahead would save no message.
void Opening::conclude_early() {
  const auto strategy = votes_[0].ran_ahead;
  all_ran_ahead_ = known_ && same_knowledge_ && objection_ == 0 && strategy != 0;
  for (int local = 1; local < local_ranks_; ++local)
    if (votes_[local].ran_ahead != strategy) all_ran_ahead_ = false;
  if (!all_ran_ahead_) return;
  early_verdict_ = votes_[0].early();
  for (int local = 1; local < local_ranks_; ++local) early_verdict_.add(votes_[local].early());
}

void Opening::start_reduction() {
  common_ = local_common();
  check(PMPI_Iallreduce(MPI_IN_PLACE, &common_, sizeof common_ / sizeof(std::int64_t), MPI_INT64_T,
                        MPI_MIN, room_.leaders.get(), &request_));
  bytes_between_nodes_ += sizeof common_;
  phase_ = Phase::reducing;
}

void Opening::start_exchange() {
  const auto& topology = hood_.topology();
  constexpr int size = sizeof(Ballot);
  gathering_ = std::make_unique<Gathering>();
  auto& g = *gathering_;
  int place = 0;
  for (int node = 0; node < topology.nodes(); ++node) {
    g.counts.push_back(static_cast<int>(topology.ranks_of(node).size()) * size);
    g.places.push_back(place);
    place += g.counts.back();
  }
  for (const int rank : hood_.node_ranks()) g.sent.push_back(room_.arena->ballots(parity_)[rank]);
  g.received.resize(static_cast<std::size_t>(ranks_));
  check(PMPI_Iallgatherv(g.sent.data(), static_cast<int>(g.sent.size()) * size, MPI_BYTE,
                         g.received.data(), g.counts.data(), g.places.data(), MPI_BYTE,
                         room_.leaders.get(), &request_));
  bytes_between_nodes_ += static_cast<std::int64_t>(g.sent.size() * sizeof(Ballot));
  phase_ = Phase::exchanging;
}

void Opening::finish_exchange() {
  auto* ballots = room_.arena->ballots(parity_);
  std::size_t next = 0;
  for (int node = 0; node < hood_.topology().nodes(); ++node)
    for (const int rank : hood_.topology().ranks_of(node))
      ballots[rank] = gathering_->received[next++];
}

/// The leader tells its node what the nodes agreed on.
void Opening::publish() {
  auto& board = room_.arena->board();
  board.plan_is_known.store(known_ ? 1 : 0, std::memory_order_relaxed);
  board.same_knowledge.store(same_knowledge_ ? 1 : 0, std::memory_order_relaxed);
  board.verdict.end_of_file = shift_;
  board.verdict.error = objection_;
  board.opening_published.store(number_ + 1, std::memory_order_release);
  ring_all(hood_, room_);
  phase_ = Phase::done;
}

bool Opening::poll() {
  if (phase_ == Phase::gathering) {
    if (hood_.one_node() || hood_.is_leader()) {
      if (!all_arrived()) return false;
      if (hood_.one_node()) {
        conclude(local_common());
        conclude_early();
        phase_ = Phase::done;
      } else {
        start_reduction();
      }
    } else {
      phase_ = Phase::waiting;
    }
  }
  if (phase_ == Phase::reducing && finished(request_)) {
    conclude(common_);
    if (known_ || objection_ != 0)
      publish();
    else
      start_exchange();
  }
  if (phase_ == Phase::exchanging && finished(request_)) {
    finish_exchange();
    publish();
  }
  if (phase_ == Phase::waiting) {
    auto& board = room_.arena->board();
    if (board.opening_published.load(std::memory_order_acquire) < number_ + 1) return false;
    known_ = board.plan_is_known.load(std::memory_order_relaxed) != 0;
    same_knowledge_ = board.same_knowledge.load(std::memory_order_relaxed) != 0;
    shift_ = board.verdict.end_of_file;
    objection_ = board.verdict.error;
    phase_ = Phase::done;
  }
  return phase_ == Phase::done;
}

Closing::Closing(Neighbourhood& hood, Room& room, const Outcome& mine)
    : hood_(hood), room_(room), number_(room.closings++), parity_(static_cast<int>(number_ % 2)) {
  room.arena->outcome(parity_, hood.local()) = mine;
  arrive(hood, room, room.arena->board().closed, number_);
}

Outcome Closing::local_verdict() const {
  Outcome worst = room_.arena->outcome(parity_, 0);
  for (int local = 1; local < hood_.local_ranks(); ++local)
    worst.add(room_.arena->outcome(parity_, local));
  return worst;
}

bool Closing::poll() {
  auto& board = room_.arena->board();
  if (phase_ == Phase::gathering) {
    if (!hood_.one_node() && !hood_.is_leader()) {
      phase_ = Phase::waiting;
    } else {
      if (!complete(hood_, board.closed, number_)) return false;
      verdict_ = local_verdict();
      if (hood_.one_node()) {
        if (verdict_.began_ns > 0) verdict_.elapsed_ns = verdict_.whole_ns();
        phase_ = Phase::done;
        return true;
      }
      packed_[0] = -verdict_.error;
      packed_[1] = verdict_.end_of_file;
      packed_[2] = -verdict_.elapsed_ns;
      check(PMPI_Iallreduce(MPI_IN_PLACE, packed_, 3, MPI_INT64_T, MPI_MIN, room_.leaders.get(),
                            &request_));
      bytes_between_nodes_ += sizeof packed_;
      phase_ = Phase::reducing;
    }
  }
  if (phase_ == Phase::reducing && finished(request_)) {
    verdict_ = {static_cast<std::int32_t>(-packed_[0]), 0, packed_[1], -packed_[2], 0, 0};
    board.verdict = verdict_;
    board.closing_published.store(number_ + 1, std::memory_order_release);
    ring_all(hood_, room_);
    phase_ = Phase::done;
  }
  if (phase_ == Phase::waiting &&
      board.closing_published.load(std::memory_order_acquire) >= number_ + 1) {
    verdict_ = board.verdict;
    phase_ = Phase::done;
  }
  return phase_ == Phase::done;
}

}  // namespace choir
