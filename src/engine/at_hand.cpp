#include "engine/at_hand.hpp"

#include <sys/uio.h>

#include <chrono>

#include "engine/guarded.hpp"

namespace choir {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// What a fault brings at least, where the kernel has what surrounds the page.
constexpr std::int64_t stride = 64 << 10;
/// Every so often one page tells for those before it whether they are in memory: each time for twice
/// as many, up to what a single fault can bring.
constexpr std::int64_t longest_look = std::int64_t{2} << 20;

/// Asking does not wait for a device.
bool is_in_memory(int fd, std::int64_t offset) {
  char byte = 0;
  const iovec part{&byte, 1};
  return preadv2(fd, &part, 1, offset, RWF_NOWAIT) == 1;
}

class Bringing {
 public:
  Bringing(const FileMapping::View& view, int fd, std::int64_t size, double most_s)
      : view_(view), fd_(fd), size_(static_cast<double>(size)), most_s_(most_s) {}

  /// Whether all of `part` could be loaded from.
  bool load_pages(Extent part) {
    std::int64_t seen = part.begin, look = stride;
    for (auto at = part.begin; at < part.end; at += stride) {
      if (at >= seen) {
        seen = std::min(part.end, at + look);
        if (!is_in_memory(fd_, seen - 1)) return false;
        look = std::min(2 * look, longest_look);
      }
      if (is_hopeless() || !load(at)) return false;
      done_ += static_cast<double>(stride);
    }
    return true;
  }

 private:
  /// A quarter of the time has to bring a quarter of the file.
  bool is_hopeless() const {
    const double used = Seconds(Clock::now() - began_).count() / most_s_;
    return used >= 1 || (used >= 0.25 && done_ < 0.25 * size_);
  }

  bool load(std::int64_t offset) const {
    return guarded(
        view_, [&] { static_cast<void>(*static_cast<const volatile char*>(view_.base + offset)); });
  }

  FileMapping::View view_;
  int fd_;
  double size_, most_s_;
  double done_ = 0;
  Clock::time_point began_ = Clock::now();
};

}  // namespace

bool bring_at_hand(FileMapping& mapping, int fd, std::int64_t size, double most_s, int rank,
                   int ranks) {
  if (!can_be_at_hand(size)) return false;
  const auto view = mapping.view(fd, 0);
  if (view.base == nullptr) return false;
  catch_bus_errors();
  Bringing bringing(view, fd, size, most_s);
  const auto first = size * rank / ranks / stride * stride;
  return bringing.load_pages({first, size}) && bringing.load_pages({0, first});
}

}  // namespace choir
