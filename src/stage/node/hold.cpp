#include "stage/node/hold.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace choir::stage {
namespace {

// What begins on a page can be mapped by itself.
constexpr std::uint64_t page = 4096;

constexpr std::uint64_t pages(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }

/// The first page: the keeper's bell, since every rank maps it, and what there is behind it.
struct Front {
  Bell keepers_bell;
  alignas(64) std::uint64_t magic = 0;
  HoldShape shape;
};
constexpr std::uint64_t magic = 0x31646c6f68726f63;  // changes with the layout
static_assert(sizeof(Front) <= page);

/// Each rank has a page for its bell, then its part.
std::uint64_t bytes_per_rank(const HoldShape& shape) {
  return page + pages(Part::size_for(shape.slots, shape.arena_bytes));
}
std::uint64_t offset_of(const HoldShape& shape, int rank) {
  return page + static_cast<std::uint64_t>(rank) * bytes_per_rank(shape);
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

HoldShape shape_in(int fd) {
  const Mapping front(fd, 0, page, true);
  const auto* const words = reinterpret_cast<const Front*>(front.data());
  if (words->magic != magic) throw std::runtime_error("this memory is no hold");
  return words->shape;
}

}  // namespace

Descriptor make_hold(const HoldShape& shape) {
  auto memory = Descriptor::owned(memfd_create("choir-hold", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) fail("memfd_create");
  const auto bytes = offset_of(shape, shape.ranks);
  if (ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) fail("the size of the hold");
  // Nobody can cut it under another's feet.
  if (fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail("sealing the hold");
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const Mapping own(memory.get(), offset_of(shape, rank), bytes_per_rank(shape), true);
    new (own.data()) Bell;
    Part::make(own.data() + page, rank, shape.slots, shape.arena_bytes);
  }
  const Mapping front(memory.get(), 0, page, true);
  auto* const words = new (front.data()) Front;
  words->shape = shape;
  words->magic = magic;
  return memory;
}

Mapping::Mapping(int fd, std::uint64_t offset, std::uint64_t bytes, bool forks) : bytes_(bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (memory == MAP_FAILED) fail("mapping the hold");
  data_ = static_cast<char*>(memory);
  if (!forks) madvise(data_, bytes_, MADV_DONTFORK);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Mapping& Mapping::operator=(Mapping other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

KeepersHold::KeepersHold(int fd)
    : shape_(shape_in(fd)), memory_(fd, 0, offset_of(shape_, shape_.ranks), true) {}

std::vector<Part> KeepersHold::parts() const {
  std::vector<Part> parts;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const auto part = Part::in(memory_.data() + offset_of(shape_, rank) + page);
    if (!part) throw std::runtime_error("a part of the hold is damaged");
    parts.push_back(*part);
  }
  return parts;
}

Bell& KeepersHold::keepers_bell() const {
  return reinterpret_cast<Front*>(memory_.data())->keepers_bell;
}

Bell& KeepersHold::ranks_bell(int rank) const {
  return *reinterpret_cast<Bell*>(memory_.data() + offset_of(shape_, rank));
}

RanksHold::RanksHold(int fd, int rank) : keeper_(fd, 0, page, false) {
  const auto shape = shape_in(fd);
  if (rank < 0 || rank >= shape.ranks) throw std::runtime_error("the hold has no such part");
  own_ = Mapping(fd, offset_of(shape, rank), bytes_per_rank(shape), false);
}

Part RanksHold::part() const {
  const auto part = Part::in(own_.data() + page);
  if (!part) throw std::runtime_error("this part of the hold is damaged");
  return *part;
}

std::int64_t NodeClock::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace choir::stage
