#include "stage/core/room.hpp"

#include <algorithm>

namespace choir::stage {
namespace {

constexpr std::uint64_t line = 64;  // of the caches: where every place begins

constexpr std::uint64_t round_up(std::uint64_t bytes) { return (bytes + line - 1) / line * line; }

}  // namespace

template <class Visit>
bool Room::visit_gaps(std::uint64_t limit, Visit&& visit) const {
  std::uint64_t begin = 0;
  for (const auto& [place, bytes] : taken_) {
    if (begin >= limit) return false;
    if (place > begin && visit(begin, std::min(place, limit) - begin)) return true;
    begin = std::max(begin, place + bytes);
  }
  return begin < limit && visit(begin, limit - begin);
}

std::optional<std::uint64_t> Room::take(std::uint64_t bytes, std::uint64_t limit) {
  const auto wanted = std::max(line, round_up(bytes));
  std::optional<std::uint64_t> found;
  visit_gaps(limit, [&](std::uint64_t begin, std::uint64_t size) {
    if (size >= wanted) found = begin;
    return found.has_value();
  });
  if (found) taken_.emplace(*found, wanted);
  return found;
}

std::uint64_t Room::limit_for(std::uint64_t bytes) const {
  const auto wanted = std::max(line, round_up(bytes));
  std::uint64_t end = 0;
  visit_gaps(UINT64_MAX, [&](std::uint64_t begin, std::uint64_t size) {
    end = begin + wanted;
    return size >= wanted;
  });
  return end;
}

std::uint64_t Room::largest(std::uint64_t limit) const {
  std::uint64_t most = 0;
  visit_gaps(limit, [&](std::uint64_t, std::uint64_t size) {
    most = std::max(most, size / line * line);
    return false;
  });
  return most;
}

}  // namespace choir::stage
