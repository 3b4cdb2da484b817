#include "engine/muster.hpp"

#include <algorithm>

#include "mpi/error.hpp"

namespace choir {
namespace {

constexpr auto row_bytes = static_cast<std::int64_t>(sizeof(CallCounts));

/// Room for a row per rank, and one in which the leader tells what the nodes agreed on. Equal on
/// all nodes: rooms are pooled by their shape.
std::int64_t table_bytes(const Topology& topology) {
  std::size_t most = 1;
  for (int node = 0; node < topology.nodes(); ++node)
    most = std::max(most, topology.ranks_of(node).size());
  return (static_cast<std::int64_t>(most) + 1) * row_bytes;
}

std::int64_t* row_of(const Room& room, std::uint64_t number, int local) {
  return reinterpret_cast<std::int64_t*>(room.arena->data(0, static_cast<int>(number % 2)) +
                                         local * row_bytes);
}

}  // namespace

std::unique_ptr<Room> take_muster_room(Neighbourhood& hood) {
  auto room = hood.take_room(1, table_bytes(hood.topology()));
  for (const std::uint64_t parity : {0U, 1U}) {  // the room may have served a file before
    std::fill_n(row_of(*room, parity, hood.local()), muster_files, 0);
    if (hood.is_leader()) std::fill_n(row_of(*room, parity, hood.local_ranks()), muster_files, 0);
  }
  check(PMPI_Barrier(room->comm.get()));
  return room;
}

bool muster_called(const Neighbourhood& hood, const Room& room) {
  const auto arrived = room.arena->board().opened.load(std::memory_order_acquire);
  return arrived > static_cast<std::uint64_t>(hood.local_ranks()) * room.calls;
}

Muster::Muster(Neighbourhood& hood, Room& room, const CallCounts& mine)
    : hood_(hood), room_(room), number_(room.calls++) {
  std::copy(mine.begin(), mine.end(), row(hood.local()));
  arrive(hood, room, room.arena->board().opened, number_);
}

std::int64_t* Muster::row(int local) const { return row_of(room_, number_, local); }

/// Of the ranks of this node.
void Muster::take_least() {
  std::copy_n(row(0), muster_files, least_.begin());
  for (int local = 1; local < hood_.local_ranks(); ++local)
    for (std::size_t file = 0; file < muster_files; ++file)
      least_[file] = std::min(least_[file], row(local)[file]);
}

void Muster::publish() {
  std::copy(least_.begin(), least_.end(), row(hood_.local_ranks()));
  room_.arena->board().opening_published.store(number_ + 1, std::memory_order_release);
  ring_all(hood_, room_);
  phase_ = Phase::done;
}

bool Muster::poll() {
  auto& board = room_.arena->board();
  if (phase_ == Phase::gathering) {
    if (!hood_.one_node() && !hood_.is_leader()) {
      phase_ = Phase::waiting;
    } else {
      if (!complete(hood_, board.opened, number_)) return false;
      take_least();
      phase_ = hood_.one_node() ? Phase::done : Phase::reducing;
      if (!hood_.one_node())
        check(PMPI_Iallreduce(MPI_IN_PLACE, least_.data(), static_cast<int>(muster_files),
                              MPI_INT64_T, MPI_MIN, room_.leaders.get(), &request_));
    }
  }
  if (phase_ == Phase::reducing && finished(request_)) publish();
  if (phase_ == Phase::waiting &&
      board.opening_published.load(std::memory_order_acquire) >= number_ + 1) {
    std::copy_n(row(hood_.local_ranks()), muster_files, least_.begin());
    phase_ = Phase::done;
  }
  return phase_ == Phase::done;
}

}  // namespace choir
