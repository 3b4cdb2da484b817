// storage_seat.hpp: a seat whose bytes go to, or come from, storage.
//
// After an error the protocol goes on and storage is left alone, so that nobody is stranded.
#pragma once

#include "engine/seat.hpp"

namespace choir {

class StorageSeat final : public Seat {
 public:
  using Seat::Seat;
  /// A call that ends early still owns the memory its jobs move.
  ~StorageSeat() override;
  StorageSeat(const StorageSeat&) = delete;
  StorageSeat& operator=(const StorageSeat&) = delete;

 private:
  struct Move {
    std::vector<Extent> extents;  ///< of the buffer, to be written
    Job job;
    Job old;                    ///< what lies under them and between, if holes are written too
    std::vector<char> scratch;  ///< where that is read to
    Job* busy = nullptr;        ///< the one under way
    Storage* by = nullptr;      ///< and who carries it out
    bool wants_old = false;     ///< but not yet: see read_old
    std::vector<Extent> locks;  ///< of the file, held
  };

  void start_move(Buffer& buffer, Coverage& coverage) override;
  bool poll_move(Buffer& buffer) override;

  static Storage* storage_of(const Buffer& buffer);
  void start_job(Buffer& buffer, Move& move, Job& job);
  void finish_job(Buffer& buffer, Move& move, Job& job);
  void add_transfers(const Buffer& buffer, Extent bytes, std::vector<Transfer>& out);
  void gather_writes(Buffer& buffer, Coverage& coverage, Move& move);
  void gather_reads(Buffer& buffer, Coverage& coverage, Job& job);
  bool worth_sieving(const Buffer& buffer, const std::vector<Extent>& extents) const;
  void read_old(Buffer& buffer, Move& move);
  void fill_holes(Buffer& buffer, Move& move);
  static bool lock(const Buffer& buffer, Move& move);
  static bool set_lock(const Buffer& buffer, Extent range, short kind);
  static void unlock(const Buffer& buffer, Move& move);

  std::array<Move, 2> moves_;
};

}  // namespace choir
