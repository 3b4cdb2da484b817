// extent_set.hpp: which bytes of a file something has happened to, as extents apart from each
// other.
//
// Pure. Bounded: a set that falls into too many extents is emptied, so it may forget but never
// claims a byte that was not added.
#pragma once

#include <algorithm>
#include <vector>

#include "access/run.hpp"

namespace choir {

class ExtentSet {
 public:
  static constexpr std::size_t most_extents = 1024;

  /// Whether every byte of `extent` was added.
  bool covers(Extent extent) const {
    const auto after =
        std::upper_bound(extents_.begin(), extents_.end(), extent.begin,
                         [](std::int64_t at, const Extent& e) { return at < e.begin; });
    return after != extents_.begin() && std::prev(after)->end >= extent.end;
  }

  void add(Extent extent) {
    const auto first =
        std::lower_bound(extents_.begin(), extents_.end(), extent.begin,
                         [](const Extent& e, std::int64_t at) { return e.end < at; });
    auto last = first;
    for (; last != extents_.end() && last->begin <= extent.end; ++last) {
      extent.begin = std::min(extent.begin, last->begin);
      extent.end = std::max(extent.end, last->end);
    }
    extents_.insert(extents_.erase(first, last), extent);
    if (extents_.size() > most_extents) extents_.clear();
  }

  bool empty() const { return extents_.empty(); }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& extent : extents_) sum += extent.size();
    return sum;
  }
  void clear() { extents_.clear(); }

 private:
  std::vector<Extent> extents_;  // sorted
};

}  // namespace choir
