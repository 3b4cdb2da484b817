// room.hpp: which bytes of its arena a rank may write next.
//
// Private to the rank: nobody needs it after the rank has died. The lowest room that fits is taken,
// so that pages which were used before are used again. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace choir::stage {

class Room {
 public:
  /// Room for `bytes` below `limit`.
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t limit);
  void give_back(std::uint64_t place) { taken_.erase(place); }
  /// The limit below which take() would find room.
  std::uint64_t limit_for(std::uint64_t bytes) const;
  /// The largest room that take() could give.
  std::uint64_t largest(std::uint64_t limit) const;
  bool empty() const { return taken_.empty(); }

 private:
  /// Calls visit(begin, size) for each gap below `limit` until it returns true.
  template <class Visit>
  bool visit_gaps(std::uint64_t limit, Visit&& visit) const;

  std::map<std::uint64_t, std::uint64_t> taken_;  // place: bytes
};

}  // namespace choir::stage
