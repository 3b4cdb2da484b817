// muster.hpp: a meeting in which every rank tells how many calls it has made on each file, and all
// learn the least.
//
// Inside a node a table in shared memory; between nodes one reduction of the nodes' leaders.
// Polled, and never blocks. The table is the first seat's cycle buffers of a room that serves
// nothing else, one for meetings of even number and one for those of odd number: a rank is at most
// one meeting ahead of another that still reads.
#pragma once

#include <array>

#include "engine/agreement.hpp"

namespace choir {

/// Files that can take part; further ones do not.
inline constexpr std::size_t muster_files = 128;
/// Calls per file, by the file's number.
using CallCounts = std::array<std::int64_t, muster_files>;

/// Collective over the neighbourhood: a room for musters, with nothing counted yet. Throws MpiError
/// on all ranks if there is no memory for it.
std::unique_ptr<Room> take_muster_room(Neighbourhood& hood);

class Muster {
 public:
  Muster(Neighbourhood& hood, Room& room, const CallCounts& mine);
  bool poll();
  /// After poll() said so: calls that every rank has made.
  const CallCounts& least() const { return least_; }

 private:
  enum class Phase { gathering, reducing, waiting, done };
  std::int64_t* row(int local) const;
  void take_least();
  void publish();

  Neighbourhood& hood_;
  Room& room_;
  std::uint64_t number_;
  Phase phase_ = Phase::gathering;
  CallCounts least_{};
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Whether a rank of this node waits in the muster that comes next.
bool muster_called(const Neighbourhood& hood, const Room& room);

}  // namespace choir
