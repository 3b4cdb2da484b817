#include "engine/relay_seat.hpp"

#include "mpi/error.hpp"
#include "mpi/real.hpp"

namespace choir {

void RelaySeat::start_move(Buffer& buffer, Coverage& coverage) {
  auto& move = moves_[static_cast<std::size_t>(buffer.index)];
  move.runs.clear();
  for (const auto& extent : coverage.extents())
    append(move.runs, {extent.begin, extent.size(), 0, 1});
  const auto bytes = total_bytes(move.runs);
  if (!writing() && bytes > 0) expect_reply(buffer, move, bytes);
  const auto sent = writing() ? bytes : 0;  // of a read, the aggregator sends and counts the data
  auto packet = begin_packet(move.runs, sent, buffer.index);
  if (writing()) copy_runs(Direction::from_window, move.runs, packet_data(packet), data(buffer));
  auto& call = *buffer.call;
  call.traffic.count_message(sent, packet_overhead(packet));
  move.out.send(std::move(packet), call.plan.aggregators[buffer.aggregator].rank,
                call.contribution_tag_of(buffer.aggregator), room_.comm.get());
}

/// A reply has no description, so its size is known.
void RelaySeat::expect_reply(const Buffer& buffer, Move& move, std::int64_t bytes) {
  move.reply = begin_reply(bytes);
  check(PMPI_Irecv(move.reply.data(), static_cast<int>(move.reply.size()), MPI_BYTE,
                   buffer.call->plan.aggregators[buffer.aggregator].rank,
                   buffer.call->reply_tag_of(buffer.aggregator, buffer.index), room_.comm.get(),
                   &move.request));
  move.waiting = true;
}

bool RelaySeat::poll_move(Buffer& buffer) {
  auto& move = moves_[static_cast<std::size_t>(buffer.index)];
  move.out.poll();
  if (move.waiting) {
    int arrived = 0;
    check(REAL(Test)(&move.request, &arrived, MPI_STATUS_IGNORE));
    if (arrived == 0) return false;
    move.waiting = false;
    copy_runs(Direction::to_window, move.runs, reply_data(move.reply), data(buffer));
    control(buffer).end_of_file.store(reply_end_of_file(move.reply), std::memory_order_relaxed);
  }
  return !move.out.busy();
}

}  // namespace choir
