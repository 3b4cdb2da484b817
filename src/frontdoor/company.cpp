#include "frontdoor/company.hpp"

#include <numeric>
#include <vector>

#include "mpi/error.hpp"
#include "mpi/job.hpp"

namespace choir {
namespace {

class Group {
 public:
  explicit Group(MPI_Group group) : group_(group) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    if (group_ != MPI_GROUP_EMPTY) PMPI_Group_free(&group_);
  }
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

MPI_Group group_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  check(PMPI_Comm_group(comm, &group));
  return group;
}

Company look_around(MPI_Comm comm) {
  const Group here(group_of(comm)), world(job_group());
  if (world.get() == MPI_GROUP_EMPTY) return {trace::Left::no_world, rank_in(comm) == 0};
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
  if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF) return {trace::Left::no, rank_in(comm) == 0};
  void* kept = nullptr;
  int found = 0;
  check(PMPI_Comm_get_attr(comm, company_keyval(), &kept, &found));
  if (found != 0) return *static_cast<Company*>(kept);
  const auto company = look_around(comm);
  check(PMPI_Comm_set_attr(comm, company_keyval(), new Company(company)));
  return company;
}

}  // namespace choir
