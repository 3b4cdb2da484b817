// client.hpp: how a rank gives its bytes away.
//
// One rank, one part, one thread at a time. Nothing here waits: a request that finds no room is
// polled again when the keeper has rung. Pure: no MPI, no system.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "access/copy.hpp"
#include "stage/core/part.hpp"
#include "stage/core/room.hpp"

namespace choir::stage {

/// The node's clock: equal on all ranks, and later after every message that was sent before.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now() = 0;
};

/// An open of a file, as the keeper knows it.
struct OpenFile {
  std::uint64_t open = 0;
  Inode inode;
};

class Client {
 public:
  Client(Part part, Clock& clock) : part_(part), clock_(clock) {}

  /// An entry without bytes. Its number; 0: no slot is free, ask again. `call`: number of the
  /// collective call; 0: by the rank alone.
  std::uint64_t say(const OpenFile& file, Kind kind, std::uint64_t call, std::int64_t argument = 0,
                    Extent span = {});

  /// What became of an entry of the last `slots`.
  const Entry& entry(std::uint64_t number) const { return part_.slot(number); }
  bool is_over(std::uint64_t number) const;

  /// The first failure of an open's entries that was not told yet; 0: none.
  int take_error(std::uint64_t open);
  /// Entries that are still held, as far as reclaim() has looked.
  std::size_t held() const { return held_.size(); }

  /// Takes back the room of what is over, and notes what failed.
  void reclaim();

 private:
  friend class Handover;
  struct Held {
    std::uint64_t number, open;
    std::optional<std::uint64_t> place;
  };
  std::uint64_t commit(Words words, std::optional<std::uint64_t> place);

  Part part_;
  Clock& clock_;
  Room room_;
  std::deque<Held> held_;                // oldest first
  std::map<std::uint64_t, int> errors_;  // by open
};

/// One write on its way into the hold, in pieces if there is little room. Nobody else uses the
/// client until it is done.
class Handover {
 public:
  /// `call`: number of the collective write; 0: by the rank alone. Access and memory outlive this.
  Handover(Client& client, const OpenFile& file, std::uint64_t call, const Access& access,
           const Memory& memory)
      : client_(client),
        file_(file),
        call_(call),
        access_(access),
        memory_(memory),
        position_(access.begin) {}

  /// Gives away what finds room. True once everything is held.
  bool poll();

 private:
  bool give_piece(std::uint64_t grant);
  std::int64_t piece_end(std::uint64_t room) const;

  Client& client_;
  OpenFile file_;
  std::uint64_t call_;
  const Access& access_;
  const Memory& memory_;
  std::int64_t position_;  // of the next stream byte
  bool has_wished_ = false;
  bool done_ = false;
};

}  // namespace choir::stage
