// repeat.hpp: the short way through a blocking call that asks again what an earlier one asked.
//
// A call all of whose ranks ran ahead (call.hpp) leaves a track: its pattern, its plan and its
// strategy, which needs no other rank or gathers what all leave (gathering.hpp). A later blocking
// call that fits the track moves its bytes, meets the others once and is over, without a Call being
// made. Where another rank asks otherwise or is late, an ordinary call takes over the meeting as it
// stands.
//
// Shorter still is the way of a single block while its track has a lease: the selector has said for
// how many calls it need not be asked, and what all of them have in common is kept.
#pragma once

#include <memory>

#include "engine/agreement.hpp"
#include "engine/gathering.hpp"

namespace choir {

struct CallRequest;

/// Most calls of a pattern in which ranks moved their bytes ahead in vain: then it is left alone.
inline constexpr int most_vain_runs_ahead = 2;
/// Most bytes a rank moves before it knows that the others ask as before: if they do not, it moves
/// them again.
inline constexpr std::int64_t most_bytes_ahead = std::int64_t{16} << 20;

/// What a call finds where it goes, as far as calls of this file tell; equal on all ranks.
struct Ground {
  bool is_new = false;   ///< nothing was written there before
  bool prepared = true;  ///< a strategy that warms up has been there, or ...
  bool at_hand = false;  ///< ... pages to be read were brought when the file was opened

  /// Such a strategy is not cold there; on new ground there is nothing to find ready.
  bool warm() const { return is_new || prepared; }
  /// A pattern there is another one than elsewhere in the file: who serves it best need not be the
  /// same.
  bool apart() const { return is_new || at_hand; }
  bool operator==(const Ground&) const = default;
};

/// Where a repeated call went, what it found there, and whether it was timed.
struct Visit {
  std::int64_t shift = 0;
  Ground ground;
  bool timed = false;
};

/// Calls of a track that are made without asking who serves them.
struct Lease {
  std::int64_t calls = 0;     ///< left; 0: there is none
  std::int64_t unbooked = 0;  ///< made, and not told the selector yet
  Ground ground;              ///< on which it is valid
};

struct Track {
  std::shared_ptr<PlanEntry> entry;  ///< null: there is no track
  std::shared_ptr<const Plan> plan;
  TilePtr tile;        ///< the view's
  int row = -1;        ///< of the file's strategy table
  int candidate = -1;  ///< the selector's number of the row; -1: the strategy is fixed
  std::uint64_t signature = 0;
  bool apart = false;   ///< the signature is that of such ground
  Ballot ballot;        ///< this rank's, where it was then
  Gathering gathering;  ///< if ranks do not move their bytes but leave them to a writer
  Lease lease = {};

  /// Whether `access` is the track's pattern, wherever it lies.
  bool fits(const Access& access) const {
    return entry && access.bytes() == entry->bytes &&
           (entry->bytes == 0 ||
            (access.file.tile == tile && access.begin % tile->bytes() == entry->begin_in_tile)) &&
           !worn_out();
  }
  /// Whether this rank asks for one block, as those who hold a lease do. The view may have changed
  /// meanwhile, and the ballot tells the others what shape it is.
  bool is_one_block() const { return ballot.high - ballot.low == ballot.bytes; }
  /// Too often others asked otherwise.
  bool worn_out() const {
    return entry->vain_runs_ahead.load(std::memory_order_relaxed) > most_vain_runs_ahead;
  }
};

/// Where a rank is that has moved its bytes and has told the others so.
struct Ahead {
  Track track;
  Opening opening;
  std::uint64_t number;  ///< of the call
};

/// What a blocking call came to.
struct Finished {
  int error = 0;  ///< an MPI error class, equal on all ranks
  std::int64_t bytes = 0;
};

/// How far a block came on the shortest way.
struct Repeated {
  enum class Way {
    none,      ///< it is not that way's; nothing has happened
    begun,     ///< its bytes are moved, but the others are not here: File::resume() has to go on
    finished,  ///< as `finished` says
  };
  Way way = Way::none;
  Finished finished = {};
};

/// What a rank tells the others of its request.
Ballot ballot_of(const Access& access, const Shape& shape);
/// Bytes this rank got or gave in a call without error.
std::int64_t bytes_moved(const CallRequest& request, const Outcome& verdict);

}  // namespace choir
