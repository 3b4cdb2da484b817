#include "engine/joint_agreement.hpp"

#include <algorithm>
#include <limits>

#include "engine/objection.hpp"
#include "mpi/error.hpp"

namespace choir {
namespace {

constexpr auto highest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t numbers_per_outcome = 3;

int last_seat(const Room& room) { return room.arena->shape().seats - 1; }

/// One half of the buffer, in whole cache lines.
std::int64_t half_bytes(const Room& room) { return room.arena->shape().capacity / 128 * 64; }

Ballot* ballot_area(const Room& room, std::uint64_t number) {
  const auto half = static_cast<std::int64_t>(number % 2) * half_bytes(room);
  return reinterpret_cast<Ballot*>(room.arena->data(last_seat(room), 1) + half);
}

Outcome* outcome_area(const Room& room) {
  return reinterpret_cast<Outcome*>(room.arena->data(last_seat(room), 0));
}

/// Outcomes of one member, by local rank.
Outcome* outcomes_of(const Neighbourhood& hood, const Room& room, std::size_t member) {
  return outcome_area(room) + member * static_cast<std::size_t>(hood.local_ranks());
}

/// Where the leader tells its node what the nodes agreed on.
Outcome* verdict_area(const Neighbourhood& hood, const Room& room, std::size_t members) {
  return outcomes_of(hood, room, members);
}

}  // namespace

std::size_t joint_capacity(const Neighbourhood& hood, const Room& room) {
  const auto& shape = room.arena->shape();
  if (shape.seats < 2) return 0;
  const auto opening_bytes =
      hood.topology().ranks() * static_cast<std::int64_t>(sizeof(Ballot)) +
      hood.local_ranks() * static_cast<std::int64_t>(sizeof(Vote) + sizeof(Outcome));
  const auto by_outcomes =
      shape.capacity / static_cast<std::int64_t>(sizeof(Outcome)) / (hood.local_ranks() + 1);
  return static_cast<std::size_t>(std::min(half_bytes(room) / opening_bytes, by_outcomes));
}

JointOpening::JointOpening(Neighbourhood& hood, Room& room, std::span<const Ballot> mine,
                           std::span<const Vote> votes_of_mine, std::span<const Outcome> early)
    : hood_(hood), room_(room), number_(room.calls++), members_(mine.size()) {
  for (std::size_t m = 0; m < mine.size(); ++m) {
    table(m)[hood.rank()] = mine[m];
    votes(m)[hood.local()] = votes_of_mine[m];
    if (!early.empty()) early_outcomes(m)[hood.local()] = early[m];
  }
  arrive(hood, room, room.arena->board().opened, number_);
}

Ballot* JointOpening::table(std::size_t member) const {
  return ballot_area(room_, number_) + member * static_cast<std::size_t>(hood_.topology().ranks());
}

Vote* JointOpening::votes(std::size_t member) const {
  return reinterpret_cast<Vote*>(table(members_.size())) +
         member * static_cast<std::size_t>(hood_.local_ranks());
}

Outcome* JointOpening::early_outcomes(std::size_t member) const {
  return reinterpret_cast<Outcome*>(votes(members_.size())) +
         member * static_cast<std::size_t>(hood_.local_ranks());
}

std::span<const Ballot> JointOpening::ballots(std::size_t member) const {
  return {table(member), static_cast<std::size_t>(hood_.topology().ranks())};
}

JointOpening::Common JointOpening::local_common(std::size_t member) const {
  Common common{highest, highest, highest, highest, 0};
  const auto* ballots = table(member);
  for (const int rank : hood_.node_ranks()) {
    const auto& vote = votes(member)[hood_.local_of(rank)];
    const auto name = static_cast<std::int64_t>(vote.plan_name >> 1);
    common.low_name = std::min(common.low_name, name);
    common.low_negated_name = std::min(common.low_negated_name, -name);
    common.negated_objection = std::min<std::int64_t>(common.negated_objection, -vote.objection);
    if (ballots[rank].bytes == 0) continue;  // fits any shift
    common.low_shift = std::min(common.low_shift, vote.shift);
    common.low_negated_shift = std::min(common.low_negated_shift, -vote.shift);
  }
  return common;
}

void JointOpening::conclude() {
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const auto& common = common_[m];
    const bool same_name = common.low_name != 0 && common.low_name == -common.low_negated_name;
    const bool nobody_asks = common.low_shift == highest;
    members_[m].error = Objection::from(static_cast<std::int32_t>(-common.negated_objection)).error;
    members_[m].known = same_name && (nobody_asks || common.low_shift == -common.low_negated_shift);
    members_[m].shift = nobody_asks ? 0 : common.low_shift;
  }
}

bool JointOpening::everyone_ran_ahead() const {
  const auto strategy = votes(0)[0].ran_ahead;
  if (strategy == 0) return false;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (!members_[m].known || members_[m].error != 0) return false;
    for (int local = 0; local < hood_.local_ranks(); ++local)
      if (votes(m)[local].ran_ahead != strategy) return false;
  }
  return true;
}

/// On one node only, as for single calls.
void JointOpening::conclude_early() {
  if (!everyone_ran_ahead()) return;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    auto worst = early_outcomes(m)[0];
    for (int local = 1; local < hood_.local_ranks(); ++local) worst.add(early_outcomes(m)[local]);
    early_verdicts_.push_back(worst);
  }
}

void JointOpening::start_reduction() {
  constexpr int numbers = sizeof(Common) / sizeof(std::int64_t);
  check(PMPI_Iallreduce(MPI_IN_PLACE, common_.data(), numbers * static_cast<int>(common_.size()),
                        MPI_INT64_T, MPI_MIN, room_.leaders.get(), &request_));
  for (auto& member : members_) member.bytes_between_nodes += sizeof(Common);
  phase_ = Phase::reducing;
}

void JointOpening::start_exchange() {
  const auto& topology = hood_.topology();
  const int size = static_cast<int>(sizeof(Ballot) * unknown_.size());
  int place = 0;
  for (int node = 0; node < topology.nodes(); ++node) {
    counts_.push_back(static_cast<int>(topology.ranks_of(node).size()) * size);
    places_.push_back(place);
    place += counts_.back();
  }
  for (const int rank : hood_.node_ranks())
    for (const auto member : unknown_) sent_.push_back(table(member)[rank]);
  received_.resize(static_cast<std::size_t>(topology.ranks()) * unknown_.size());
  check(PMPI_Iallgatherv(sent_.data(), static_cast<int>(sent_.size() * sizeof(Ballot)), MPI_BYTE,
                         received_.data(), counts_.data(), places_.data(), MPI_BYTE,
                         room_.leaders.get(), &request_));
  for (const auto member : unknown_)
    members_[member].bytes_between_nodes +=
        hood_.local_ranks() * static_cast<std::int64_t>(sizeof(Ballot));
  phase_ = Phase::exchanging;
}

void JointOpening::finish_exchange() {
  std::size_t next = 0;
  for (int node = 0; node < hood_.topology().nodes(); ++node)
    for (const int rank : hood_.topology().ranks_of(node))
      for (const auto member : unknown_) table(member)[rank] = received_[next++];
}

void JointOpening::publish() {
  auto* told = verdict_area(hood_, room_, members_.size());
  for (std::size_t m = 0; m < members_.size(); ++m)
    told[m] = {members_[m].error, members_[m].known ? 1 : 0, members_[m].shift, 0};
  room_.arena->board().opening_published.store(number_ + 1, std::memory_order_release);
  ring_all(hood_, room_);
  phase_ = Phase::done;
}

void JointOpening::adopt() {
  const auto* told = verdict_area(hood_, room_, members_.size());
  for (std::size_t m = 0; m < members_.size(); ++m)
    members_[m] = {told[m].reserved != 0, told[m].error, told[m].end_of_file};
  phase_ = Phase::done;
}

bool JointOpening::poll() {
  if (phase_ == Phase::gathering) {
    if (hood_.one_node() || hood_.is_leader()) {
      if (!complete(hood_, room_.arena->board().opened, number_)) return false;
      for (std::size_t m = 0; m < members_.size(); ++m) common_.push_back(local_common(m));
      if (hood_.one_node()) {
        conclude();
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
    conclude();
    for (std::size_t m = 0; m < members_.size(); ++m)
      if (!members_[m].known && members_[m].error == 0) unknown_.push_back(m);
    if (unknown_.empty())
      publish();
    else
      start_exchange();
  }
  if (phase_ == Phase::exchanging && finished(request_)) {
    finish_exchange();
    publish();
  }
  if (phase_ == Phase::waiting &&
      room_.arena->board().opening_published.load(std::memory_order_acquire) >= number_ + 1)
    adopt();
  return phase_ == Phase::done;
}

JointClosing::JointClosing(Neighbourhood& hood, Room& room, std::span<const Outcome> mine)
    : hood_(hood), room_(room), number_(room.closings++), verdicts_(mine.size()) {
  for (std::size_t m = 0; m < mine.size(); ++m) outcomes_of(hood, room, m)[hood.local()] = mine[m];
  arrive(hood, room, room.arena->board().closed, number_);
}

void JointClosing::gather() {
  for (std::size_t m = 0; m < verdicts_.size(); ++m) {
    const auto* outcomes = outcomes_of(hood_, room_, m);
    auto worst = outcomes[0];
    for (int local = 1; local < hood_.local_ranks(); ++local) worst.add(outcomes[local]);
    verdicts_[m] = worst;
  }
}

void JointClosing::start_reduction() {
  for (const auto& one : verdicts_)
    packed_.insert(packed_.end(), {-one.error, one.end_of_file, -one.elapsed_ns});
  check(PMPI_Iallreduce(MPI_IN_PLACE, packed_.data(), static_cast<int>(packed_.size()), MPI_INT64_T,
                        MPI_MIN, room_.leaders.get(), &request_));
  bytes_between_nodes_ = numbers_per_outcome * static_cast<std::int64_t>(sizeof packed_.front());
  phase_ = Phase::reducing;
}

void JointClosing::publish() {
  auto* told = verdict_area(hood_, room_, verdicts_.size());
  for (std::size_t m = 0; m < verdicts_.size(); ++m) {
    const auto* one = packed_.data() + numbers_per_outcome * static_cast<std::int64_t>(m);
    told[m] = verdicts_[m] = {static_cast<std::int32_t>(-one[0]), 0, one[1], -one[2]};
  }
  room_.arena->board().closing_published.store(number_ + 1, std::memory_order_release);
  ring_all(hood_, room_);
  phase_ = Phase::done;
}

bool JointClosing::poll() {
  auto& board = room_.arena->board();
  if (phase_ == Phase::gathering) {
    if (!hood_.one_node() && !hood_.is_leader()) {
      phase_ = Phase::waiting;
    } else {
      if (!complete(hood_, board.closed, number_)) return false;
      gather();
      if (hood_.one_node())
        phase_ = Phase::done;
      else
        start_reduction();
    }
  }
  if (phase_ == Phase::reducing && finished(request_)) publish();
  if (phase_ == Phase::waiting &&
      board.closing_published.load(std::memory_order_acquire) >= number_ + 1) {
    const auto* told = verdict_area(hood_, room_, verdicts_.size());
    std::copy(told, told + verdicts_.size(), verdicts_.begin());
    phase_ = Phase::done;
  }
  return phase_ == Phase::done;
}

}  // namespace choir
