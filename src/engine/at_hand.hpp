// at_hand.hpp: a file that is opened for reading, loaded from once by each rank if it is small.
//
// The first load from a page of a mapping is a page fault, which takes about as long as a system
// call that reads it; after that, `mapped` reads it faster than any system call. A program that
// makes fifty small reads never gets there. Opening takes longer than dozens of faults, so they are
// taken then: all or none, since a pattern would be two patterns if only some of its calls met
// faults.
//
// Nothing depends on it but who is expected to be fastest. Local: the ranks agree elsewhere on
// whether all have it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/mapping.hpp"

namespace choir {

/// Whether a program is likely to read what it opens.
class ReadingHabit {
 public:
  /// As it did with the latest file, brought or not; at first it is believed to.
  bool reads_files() const { return reads_files_; }
  /// A file of `size` was closed of which collective calls had read so many bytes.
  void note_read(std::int64_t bytes, std::int64_t size) { reads_files_ = bytes >= size; }

 private:
  bool reads_files_ = true;
};

/// Whether a file of `size` may be brought.
inline bool can_be_at_hand(std::int64_t size) {
  return size > 0 && size <= FileMapping::window_bytes;
}

/// Loads from every page of the file, if they are in memory and it can be done in `most_s`; gives
/// up early if not. Each rank begins at a place of its own: ranks that meet at a page wait for each
/// other.
bool bring_at_hand(FileMapping& mapping, int fd, std::int64_t size, double most_s, int rank,
                   int ranks);

}  // namespace choir
