#include "storage/residency.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace choir {

bool mostly_resident(int fd, std::int64_t size) {
  constexpr std::int64_t most_asked = 32;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t pages = (size + page - 1) / page;
  if (pages == 0) return false;
  void* const start = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_SHARED, fd, 0);
  if (start == MAP_FAILED) return false;
  const auto asked = std::min(pages, most_asked);
  std::int64_t here = 0;
  for (std::int64_t i = 0; i < asked; ++i) {
    unsigned char resident = 0;
    auto* const one = static_cast<char*>(start) + i * pages / asked * page;
    if (::mincore(one, 1, &resident) == 0) here += resident & 1;
  }
  ::munmap(start, static_cast<std::size_t>(size));
  return 2 * here >= asked;
}

}  // namespace choir
