#include "works.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <system_error>

namespace choir::measure {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t large_request = 1 << 20, small_request = page;
constexpr std::size_t small_bytes = 8 << 20;  ///< moved by small requests
constexpr std::size_t small_reservation = 64 << 10;
constexpr std::size_t own_bytes = 16 << 20;      ///< a process's memory: more than its caches
constexpr std::size_t cached_bytes = 256 << 10;  ///< of a process, and of its part of the file
constexpr int meetings = 200;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// Memory of this process, with every page present.
char* own_memory() {
  static const std::unique_ptr<char[]> memory = [] {
    auto bytes = std::make_unique_for_overwrite<char[]>(own_bytes);
    std::memset(bytes.get(), 1, own_bytes);
    return bytes;
  }();
  return memory.get();
}

/// Where the k-th of a member's requests lies if all members' lie in turn.
std::size_t interleaved(std::size_t k, int me, int members, std::size_t request) {
  return (k * static_cast<std::size_t>(members) + static_cast<std::size_t>(me)) * request;
}

struct Part {
  std::size_t begin, bytes;
};
/// A member's part of `bytes`, whole pages.
Part part_of(std::size_t bytes, int me, int members) {
  const auto each = bytes / static_cast<std::size_t>(members) / page * page;
  return {static_cast<std::size_t>(me) * each, each};
}

int move(int fd, bool writing, char* memory, std::size_t bytes, std::size_t offset) {
  while (bytes > 0) {
    const auto at = static_cast<off_t>(offset);
    const auto moved = writing ? pwrite(fd, memory, bytes, at) : pread(fd, memory, bytes, at);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EIO;
    const auto done = static_cast<std::size_t>(moved);
    memory += done, bytes -= done, offset += done;
  }
  return 0;
}

/// `bytes` of all members in requests that lie between each other's.
int move_all(int fd, bool writing, std::size_t bytes, std::size_t request, int me, int members) {
  for (std::size_t k = 0; interleaved(k, me, members, request) < bytes; ++k) {
    auto* const memory = own_memory() + k * request % own_bytes;
    if (const int error = move(fd, writing, memory, request, interleaved(k, me, members, request)))
      return error;
  }
  return 0;
}

/// Makes every page of a member's part present in a fresh mapping.
int touch(int fd, std::size_t bytes, bool writing, int me, int members) {
  const auto part = part_of(bytes, me, members);
  if (part.bytes == 0) return 0;
  void* const address = mmap(nullptr, part.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                             static_cast<off_t>(part.begin));
  if (address == MAP_FAILED) return errno;
  auto* const bytes_there = static_cast<volatile char*>(address);
  for (std::size_t at = 0; at < part.bytes; at += page) {
    if (writing)
      bytes_there[at] = 2;
    else
      (void)bytes_there[at];
  }
  munmap(address, part.bytes);
  return 0;
}

int reserve(int fd, std::size_t bytes, std::size_t request, int me, int members) {
  const auto part = part_of(bytes, me, members);
  for (std::size_t at = 0; at < part.bytes; at += request) {
    const auto length = std::min(request, part.bytes - at);
    if (const int error =
            posix_fallocate(fd, static_cast<off_t>(part.begin + at), static_cast<off_t>(length)))
      return error;
  }
  return 0;
}

char* shared_memory(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail(errno, "shared memory");
  return static_cast<char*>(memory);
}

std::size_t bytes_for(int cores) {
  constexpr std::size_t least = 64 << 20;
  return std::max(least, static_cast<std::size_t>(cores) * 2 * large_request);
}

}  // namespace

TestFile::TestFile(const std::string& folder) {
  auto name = folder + "/choir-measure-XXXXXX";
  fd_ = mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) fail(errno, folder);
  unlink(name.c_str());
}

TestFile::~TestFile() { close(fd_); }

Bench::Bench(const std::string& folder, int cores)
    : file_bytes_(bytes_for(cores)),
      file_(folder),
      together_(shared_memory(file_bytes_)),
      crew_(cores, works()) {
  time(Figure::copy, crew_.size());  // every process touches its memory for the first time
}

Amount Bench::amount(Figure figure) const {
  const auto counted = [](std::size_t bytes, std::size_t request) {
    return Amount{static_cast<double>(bytes), static_cast<double>(bytes / request)};
  };
  switch (figure) {
    case Figure::write_new_small:
    case Figure::write_again_small:
    case Figure::read_small:
      return counted(small_bytes, small_request);
    case Figure::reserve:
      return {static_cast<double>(file_bytes_), 1};
    case Figure::reserve_small:
      return counted(small_bytes, small_reservation);
    case Figure::meeting:
      return {0, meetings};
    default:
      return counted(file_bytes_, large_request);
  }
}

/// In the order of Figure. The processes of the crew are copies of this one: what a work uses is
/// there before.
std::vector<Work> Bench::works() {
  const int fd = file_.descriptor();
  const auto bytes = file_bytes_;
  char* const together = together_;
  const auto writes = [=](std::size_t amount, std::size_t request) {
    return [=](Crew&, int me, int members) {
      return move_all(fd, true, amount, request, me, members);
    };
  };
  const auto reads = [=](std::size_t amount, std::size_t request) {
    return [=](Crew&, int me, int members) {
      return move_all(fd, false, amount, request, me, members);
    };
  };
  const auto reserves = [=](std::size_t amount, std::size_t request) {
    return [=](Crew&, int me, int members) { return reserve(fd, amount, request, me, members); };
  };
  const auto touches = [=](bool writing) {
    return [=](Crew&, int me, int members) { return touch(fd, bytes, writing, me, members); };
  };
  const auto copies = [=](std::size_t reach) {
    return [=](Crew&, int me, int members) {
      const auto part = part_of(bytes, me, members);
      for (std::size_t at = 0; at < part.bytes; at += cached_bytes)
        std::memcpy(together + part.begin + at % std::min(reach, part.bytes),
                    own_memory() + at % std::min(reach, own_bytes),
                    std::min(cached_bytes, part.bytes - at));
      return 0;
    };
  };
  const auto writes_cached = [=](Crew&, int me, int members) {
    const auto part = part_of(bytes, me, members);
    for (std::size_t at = 0; at < part.bytes; at += cached_bytes)
      if (const int error =
              move(fd, true, own_memory(), std::min(cached_bytes, part.bytes - at), part.begin))
        return error;
    return 0;
  };
  const auto meets = [](Crew& crew, int, int members) {
    for (int i = 0; i < meetings; ++i)
      if (!crew.meet(members)) return ECANCELED;
    return 0;
  };
  return {copies(bytes),
          copies(cached_bytes),
          writes(bytes, large_request),
          writes(small_bytes, small_request),
          writes(bytes, large_request),
          writes(small_bytes, small_request),
          writes_cached,
          reads(bytes, large_request),
          reads(small_bytes, small_request),
          reserves(bytes, bytes),
          reserves(small_bytes, small_reservation),
          touches(true),
          touches(true),
          touches(false),
          meets};
}

/// Leaves the file as the work is to find it.
void Bench::prepare(Figure figure) {
  const int fd = file_.descriptor();
  int error = 0;
  const bool fresh = figure == Figure::write_new || figure == Figure::write_new_small ||
                     figure == Figure::reserve || figure == Figure::reserve_small ||
                     figure == Figure::fault_new;
  if (fresh && ftruncate(fd, 0) != 0) error = errno;
  if (figure == Figure::fault_new && error == 0)
    error = posix_fallocate(fd, 0, static_cast<off_t>(file_bytes_));
  if (!fresh && figure != Figure::copy && figure != Figure::copy_cached &&
      figure != Figure::meeting && lseek(fd, 0, SEEK_END) < static_cast<off_t>(file_bytes_))
    error = move_all(fd, true, file_bytes_, large_request, 0, 1);
  if (error != 0) fail(error, "preparing the file");
}

double Bench::time(Figure figure, int members) {
  prepare(figure);
  return crew_.run(static_cast<std::size_t>(figure), members);
}

}  // namespace choir::measure
