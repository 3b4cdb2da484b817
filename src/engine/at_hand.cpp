#include "engine/at_hand.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <chrono>

#include "engine/guarded.hpp"

namespace choir {
namespace {

using Clock = std::chrono::steady_clock;

/// What a fault brings at least, where the kernel has what surrounds the page.
constexpr std::int64_t stride = 64 << 10;
/// How far it is looked ahead for pages that are in memory: each time twice as far, up to what a
/// single fault can bring.
constexpr std::int64_t longest_look = std::int64_t{2} << 20;
/// Less is not worth while: a program that goes on behind it has patterns here and there.
constexpr std::int64_t least_bytes = 256 << 10;
/// The first of so many parts of the time tells how far the whole of it will last.
constexpr int parts = 4;

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Asking does not wait for a device.
bool is_in_memory(int fd, std::int64_t offset) {
  char byte = 0;
  const iovec part{&byte, 1};
  return preadv2(fd, &part, 1, offset, RWF_NOWAIT) == 1;
}

bool load(const FileMapping::View& view, std::int64_t offset) {
  return guarded(
      view, [&] { static_cast<void>(*static_cast<const volatile char*>(view.base + offset)); });
}

/// Loads from the pages of `part` until one is not in memory or the time is up. Where it stopped.
std::int64_t load_pages(const FileMapping::View& view, int fd, Extent part,
                        Clock::time_point until) {
  std::int64_t at = part.begin, seen = part.begin, look = stride;
  while (at < part.end && Clock::now() < until) {
    if (at >= seen) {
      seen = std::min(part.end, at + look);
      if (!is_in_memory(fd, seen - 1)) break;
      look = std::min(2 * look, longest_look);
    }
    if (!load(view, at)) break;
    at = std::min(part.end, at + stride);
  }
  return at;
}

}  // namespace

std::int64_t worth_bringing(FileMapping& mapping, int fd, std::int64_t size, double most_s) {
  const auto view = mapping.view(fd, 0);
  if (view.base == nullptr) return 0;
  catch_bus_errors();
  const auto end = std::min(size, view.range.end);
  const auto tried = load_pages(view, fd, {0, end}, after(most_s / parts));
  const auto whole = std::min(end, parts * tried);
  return whole < std::min(end, least_bytes) ? 0 : whole;
}

void bring_at_hand(FileMapping& mapping, int fd, std::int64_t bytes, double most_s, int rank,
                   int ranks) {
  const auto view = mapping.view(fd, 0);
  if (view.base == nullptr) return;
  catch_bus_errors();
  const auto until = after(most_s * (parts - 1) / parts);
  const auto first = bytes * rank / ranks / stride * stride;
  load_pages(view, fd, {first, bytes}, until);
  load_pages(view, fd, {0, first}, until);
}

}  // namespace choir
