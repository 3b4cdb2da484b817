// storage_seat.hpp: a seat whose bytes go to, or come from, storage.
//
// After an error the protocol goes on and storage is left alone, so that nobody is stranded.
#pragma once

#include "engine/seat.hpp"

namespace choir {

class StorageSeat final : public Seat {
 public:
  using Seat::Seat;

 private:
  struct Move {
    Job job;
    bool busy = false;
    bool locked = false;
    Extent lock;
  };

  void start_move(Buffer& buffer, Coverage& coverage) override;
  bool poll_move(Buffer& buffer) override;

  Storage* storage();
  void finish(Buffer& buffer, Move& move);
  void add_transfers(const Buffer& buffer, Extent bytes, std::vector<Transfer>& out);
  void gather_writes(Buffer& buffer, Coverage& coverage, Move& move);
  void gather_reads(Buffer& buffer, Coverage& coverage, Job& job);
  bool worth_sieving(const std::vector<Extent>& extents) const;
  void fill_holes(Buffer& buffer, const std::vector<Extent>& extents, Move& move);
  void set_lock(Extent range, short kind, int command);
  void lock(Move& move, Extent range);
  void unlock(Move& move);

  std::array<Move, 2> moves_;
  std::vector<char> scratch_;
};

}  // namespace choir
