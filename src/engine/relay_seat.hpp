// relay_seat.hpp: a seat whose bytes go to, or come from, an aggregator on another node: one
// message per window for all ranks of this node.
#pragma once

#include "engine/seat.hpp"

namespace choir {

class RelaySeat final : public Seat {
 public:
  using Seat::Seat;

 private:
  struct Move {
    Outgoing out;
    Runs runs;
    std::vector<char> reply;
    MPI_Request request = MPI_REQUEST_NULL;
    bool waiting = false;
  };

  bool needs_marks(const Buffer&) const override { return true; }
  bool keeps_order() const override { return true; }  // the aggregator takes messages in this order
  void start_move(Buffer& buffer, Coverage& coverage) override;
  bool poll_move(Buffer& buffer) override;
  void expect_reply(const Buffer& buffer, Move& move, std::int64_t bytes);

  std::array<Move, 2> moves_;
};

}  // namespace choir
