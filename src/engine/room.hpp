// room.hpp: where the ranks of an open file meet: their own communicators, topology and shared
// memory.
//
// A Neighbourhood is kept with the program's communicator (an attribute), or with MPI_COMM_WORLD if
// that has the same ranks, so that opening many files finds out who shares a node once. Rooms are
// pooled there: an arena and a private communicator outlive the file they served.
#pragma once

#include <mpi.h>

#include <memory>
#include <mutex>
#include <vector>

#include "engine/arena.hpp"
#include "engine/plan_cache.hpp"
#include "mpi/unique.hpp"
#include "plan/topology.hpp"

namespace choir {

class Joiner;

/// Requests and ranks choir uses for one open file. Calls on one file are carried out one after the
/// other.
struct Room {
  Comm comm;     ///< all ranks, nobody else's traffic
  Comm leaders;  ///< first rank of each node; null elsewhere
  std::unique_ptr<Arena> arena;
  std::uint64_t calls = 0;     ///< calls begun so far; equal on all ranks
  std::uint64_t closings = 0;  ///< calls closed so far: those that failed at their opening are not
};

class Neighbourhood {
 public:
  /// Collective over `user`. `ranks_per_node` > 0 splits nodes into imaginary ones of that many
  /// ranks. `several_threads`: files may be opened at the same time on communicators of the same
  /// ranks, which then cannot share communicators of ours.
  static std::shared_ptr<Neighbourhood> of(MPI_Comm user, int ranks_per_node, bool several_threads);
  /// Before MPI_Finalize: lets go of what is kept with MPI_COMM_WORLD and MPI_COMM_SELF.
  static void release_predefined();

  Neighbourhood(MPI_Comm user, int ranks_per_node);

  const Topology& topology() const { return topology_; }
  int rank() const { return rank_; }
  int node() const { return topology_.node_of(rank_); }
  int local() const { return local_; }
  const std::vector<int>& node_ranks() const { return topology_.ranks_of(node()); }
  int local_ranks() const { return local_ranks_; }
  bool one_node() const { return topology_.nodes() == 1; }
  bool is_leader() const { return local_ == 0; }
  /// Position of a rank among the ranks of its node.
  int local_of(int rank) const { return local_of_[static_cast<std::size_t>(rank)]; }
  /// More ranks than cores: waiting ranks must give way quickly.
  bool crowded() const { return local_ranks() > topology_.cores_per_node(); }

  /// Collective: a room of at least this shape. Throws MpiError on all ranks if there is no memory
  /// for it.
  std::unique_ptr<Room> take_room(int seats, std::int64_t capacity);
  /// Collective.
  void give_back(std::unique_ptr<Room> room);

  /// Collective, in the order files are opened: numbers that tell neighbours in that order apart.
  /// They come again soon, so that files of one shape share plans.
  int next_turn() { return turn_++ % 16; }

  PlanCache& plans() { return plans_; }
  /// What joins the files' nonblocking calls, while a file wants it.
  std::weak_ptr<Joiner>& joiner() { return joiner_; }

 private:
  std::unique_ptr<Arena> arena_on_every_node(const ArenaShape& shape);

  Comm comm_;
  Comm node_comm_;  ///< null on one node: it is everybody
  Comm leaders_;    ///< null on one node
  Topology topology_;
  std::vector<int> local_of_;
  int rank_ = 0;
  int local_ = 0;
  int local_ranks_ = 1;
  int split_ = 0;
  std::vector<std::unique_ptr<Room>> pool_;
  int turn_ = 0;
  PlanCache plans_;
  std::weak_ptr<Joiner> joiner_;
};

}  // namespace choir
