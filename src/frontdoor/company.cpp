#include "frontdoor/company.hpp"

#include <atomic>
#include <numeric>
#include <vector>

#include "mpi/error.hpp"

namespace choir {
namespace {

std::atomic<bool> world_used{false}, sessions_used{false};

class Group {
 public:
  explicit Group(MPI_Comm comm) { check(PMPI_Comm_group(comm, &group_)); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() { PMPI_Group_free(&group_); }
  MPI_Group get() const { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

int size_of(MPI_Comm comm) {
  int size = 0;
  check(PMPI_Comm_size(comm, &size));
  return size;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(PMPI_Comm_rank(comm, &rank));
  return rank;
}

Company look_around(MPI_Comm comm) {
  const Group here(comm), world(MPI_COMM_WORLD);
  std::vector<int> ranks(static_cast<std::size_t>(size_of(comm))), in_world(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  check(PMPI_Group_translate_ranks(here.get(), static_cast<int>(ranks.size()), ranks.data(),
                                   world.get(), in_world.data()));
  Company company;
  int first_of_mine = -1;
  for (const int rank : ranks) {
    const bool mine = in_world[static_cast<std::size_t>(rank)] != MPI_UNDEFINED;
    if (!mine) company.left = trace::Left::other_world;
    if (mine && first_of_mine < 0) first_of_mine = rank;
  }
  company.speaks = rank_in(comm) == first_of_mine;
  return company;
}

extern "C" int forget_company(MPI_Comm, int, void* value, void*) {
  delete static_cast<Company*>(value);
  return MPI_SUCCESS;
}

int company_keyval() {
  static const int keyval = [] {
    int key = MPI_KEYVAL_INVALID;
    check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_company, &key, nullptr));
    return key;
  }();
  return keyval;
}

}  // namespace

Company company_of(MPI_Comm comm) {
  if (sessions_used && !world_used) return {trace::Left::no_world, rank_in(comm) == 0};
  if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF) return {trace::Left::no, rank_in(comm) == 0};
  void* kept = nullptr;
  int found = 0;
  check(PMPI_Comm_get_attr(comm, company_keyval(), &kept, &found));
  if (found != 0) return *static_cast<Company*>(kept);
  const auto company = look_around(comm);
  check(PMPI_Comm_set_attr(comm, company_keyval(), new Company(company)));
  return company;
}

void note_world() { world_used = true; }
void note_session() { sessions_used = true; }

}  // namespace choir
