#include "engine/room.hpp"

#include <unistd.h>

#include "engine/host_key.hpp"
#include "mpi/error.hpp"
#include "mpi/keyval.hpp"

namespace choir {
namespace {

constexpr std::size_t most_pooled = 4;

Comm split(MPI_Comm comm, int color, int key) {
  MPI_Comm made = MPI_COMM_NULL;
  check(PMPI_Comm_split(comm, color, key, &made));
  if (made != MPI_COMM_NULL) check(PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  return Comm(made);
}

/// Without what the program promises of its own messages there (mpi_assert_no_any_source and the
/// like).
Comm duplicate(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  check(PMPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made));
  check(PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  return Comm(made);
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(PMPI_Comm_rank(comm, &rank));
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check(PMPI_Comm_size(comm, &size));
  return size;
}

/// Collective. The cores are rank 0's: plans follow from them, so they are equal on all ranks.
Topology find_topology(MPI_Comm comm, int ranks_per_node) {
  struct Place {
    std::uint64_t host, cores;
  };
  const Place mine{key_of(this_host()), static_cast<std::uint64_t>(sysconf(_SC_NPROCESSORS_ONLN))};
  std::vector<Place> places(static_cast<std::size_t>(size_of(comm)));
  check(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, places.data(), sizeof mine, MPI_BYTE, comm));
  std::vector<std::uint64_t> hosts;
  for (const auto& place : places) hosts.push_back(place.host);
  return Topology(nodes_of(hosts, ranks_per_node), static_cast<int>(places.front().cores));
}

/// Communicators of the same ranks in the same order share what is kept with a predefined one: then
/// a library that duplicates its communicator for every file does not begin anew each time.
MPI_Comm keeper_of(MPI_Comm user) {
  if (!world_is_there()) return user;
  for (const MPI_Comm predefined : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    int comparison = MPI_UNEQUAL;
    check(PMPI_Comm_compare(user, predefined, &comparison));
    if (comparison == MPI_IDENT || comparison == MPI_CONGRUENT) return predefined;
  }
  return user;
}

using NeighbourhoodPtr = std::shared_ptr<Neighbourhood>;

extern "C" int forget_neighbourhood(MPI_Comm, int, void* value, void*) {
  delete static_cast<NeighbourhoodPtr*>(value);
  return MPI_SUCCESS;
}

int neighbourhood_keyval() {
  static Keyval keyval([](int* key) {
    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_neighbourhood, key, nullptr);
  });
  return keyval.get();
}

}  // namespace

Neighbourhood::Neighbourhood(MPI_Comm user, int ranks_per_node)
    : comm_(duplicate(user)),
      topology_(find_topology(comm_.get(), ranks_per_node)),
      local_of_(static_cast<std::size_t>(topology_.ranks())),
      rank_(rank_in(comm_.get())),
      split_(ranks_per_node) {
  for (int node = 0; node < topology_.nodes(); ++node) {
    int next = 0;
    for (const int rank : topology_.ranks_of(node))
      local_of_[static_cast<std::size_t>(rank)] = next++;
  }
  local_ = local_of(rank_);
  local_ranks_ = static_cast<int>(node_ranks().size());
  if (one_node()) return;
  node_comm_ = split(comm_.get(), node(), rank_);
  leaders_ = split(comm_.get(), local_ == 0 ? 0 : MPI_UNDEFINED, rank_);
}

NeighbourhoodPtr Neighbourhood::of(MPI_Comm user, int ranks_per_node, bool several_threads) {
  void* kept = nullptr;
  int found = 0;
  const MPI_Comm keeper = several_threads ? user : keeper_of(user);
  check(PMPI_Comm_get_attr(keeper, neighbourhood_keyval(), &kept, &found));
  if (found != 0) {
    const auto& known = *static_cast<NeighbourhoodPtr*>(kept);
    if (known->split_ == ranks_per_node) return known;
  }
  // The keeper's, so that it lasts as long: a session may end before the world does.
  auto made = std::make_shared<Neighbourhood>(keeper, ranks_per_node);
  check(PMPI_Comm_set_attr(keeper, neighbourhood_keyval(), new NeighbourhoodPtr(made)));
  return made;
}

void Neighbourhood::release_predefined() {
  if (!world_is_there()) return;
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    void* kept = nullptr;
    int found = 0;
    if (PMPI_Comm_get_attr(comm, neighbourhood_keyval(), &kept, &found) == MPI_SUCCESS &&
        found != 0)
      PMPI_Comm_delete_attr(comm, neighbourhood_keyval());
  }
}

std::unique_ptr<Room> Neighbourhood::take_room(int seats, std::int64_t capacity) {
  for (auto& pooled : pool_) {
    const auto& shape = pooled->arena->shape();
    if (shape.seats < seats || shape.capacity < capacity) continue;
    auto room = std::move(pooled);
    pool_.erase(pool_.begin() + (&pooled - pool_.data()));
    return room;
  }
  auto room = std::make_unique<Room>();
  const ArenaShape shape{local_ranks(), topology_.ranks(), seats, capacity};
  if (one_node())
    room->arena = std::make_unique<Arena>(comm_.get(), shape);
  else
    room->arena = arena_on_every_node(shape);
  room->comm = duplicate(comm_.get());
  if (leaders_.get() != MPI_COMM_NULL) room->leaders = duplicate(leaders_.get());
  return room;
}

/// A node without memory is an error on all.
std::unique_ptr<Arena> Neighbourhood::arena_on_every_node(const ArenaShape& shape) {
  std::unique_ptr<Arena> arena;
  try {
    arena = std::make_unique<Arena>(node_comm_.get(), shape);
  } catch (const MpiError&) {
    arena = nullptr;
  }
  int have = arena ? 1 : 0, all = 0;
  check(PMPI_Allreduce(&have, &all, 1, MPI_INT, MPI_MIN, comm_.get()));
  if (all == 0) throw MpiError(MPI_ERR_NO_MEM);
  return arena;
}

void Neighbourhood::give_back(std::unique_ptr<Room> room) {
  if (pool_.size() < most_pooled) pool_.push_back(std::move(room));
}

}  // namespace choir
