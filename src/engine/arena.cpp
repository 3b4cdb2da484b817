#include "engine/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <random>

#include "engine/present.hpp"
#include "mpi/error.hpp"

namespace choir {
namespace {

constexpr std::int64_t page = 4096;

std::int64_t rounded(std::int64_t bytes) { return (bytes + page - 1) / page * page; }

/// A name nobody has; random, since pid namespaces make equal pids on one host possible.
int create_object(char (&name)[64], std::int64_t size) {
  std::random_device entropy;
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::snprintf(name, sizeof name, "/choir-%08x%08x", entropy(), entropy());
    const int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0) continue;
    if (posix_fallocate(fd, 0, size) == 0) return fd;
    close(fd);
    shm_unlink(name);
    break;
  }
  name[0] = '\0';
  return -1;
}

char* map(int fd, std::int64_t size) {
  if (fd < 0) return nullptr;
  void* address =
      mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return address == MAP_FAILED ? nullptr : static_cast<char*>(address);
}

}  // namespace

void Arena::lay_out() {
  const auto place = [this](std::int64_t bytes) {
    const auto offset = size_;
    size_ += rounded(bytes);
    return offset;
  };
  board_ = place(sizeof(Board));
  gate_ = place(sizeof(Gate));
  bells_ = place(static_cast<std::int64_t>(sizeof(Bell)) * shape_.local_ranks);
  ballots_ = place(2 * static_cast<std::int64_t>(sizeof(Ballot)) * shape_.ranks);
  votes_ = place(2 * static_cast<std::int64_t>(sizeof(Vote)) * shape_.local_ranks);
  outcomes_ = place(2 * static_cast<std::int64_t>(sizeof(Outcome)) * shape_.local_ranks);
  tokens_ = place(64 * static_cast<std::int64_t>(shape_.local_ranks));
  controls_ = place(2 * static_cast<std::int64_t>(sizeof(SeatBuffer)) * shape_.seats);
  shape_.capacity = rounded(shape_.capacity);
  data_ = place(2 * shape_.capacity * shape_.seats);
  coverage_ = place(2 * shape_.coverage_bytes() * shape_.seats);
}

Arena::Arena(MPI_Comm node, const ArenaShape& shape) : shape_(shape) {
  lay_out();
  int rank = 0;
  check(PMPI_Comm_rank(node, &rank));
  char name[64] = {};
  if (rank == 0) base_ = map(create_object(name, size_), size_);
  check(PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, node));
  if (rank != 0 && name[0] != '\0') base_ = map(shm_open(name, O_RDWR, 0), size_);
  int mapped = base_ != nullptr ? 1 : 0, all = 0;
  check(PMPI_Allreduce(&mapped, &all, 1, MPI_INT, MPI_MIN, node));
  if (rank == 0 && name[0] != '\0') shm_unlink(name);
  if (all == 0) {
    if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(size_));
    throw MpiError(MPI_ERR_NO_MEM);
  }
  make_present(base_, data_, true);
}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(size_));
}

}  // namespace choir
