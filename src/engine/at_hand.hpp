// at_hand.hpp: the beginning of a file that is opened for reading, loaded from once by each rank.
//
// The first load from a page of a mapping is a page fault, which takes about as long as a system
// call that reads it; after that, `mapped` reads it faster than any system call. A program that
// makes fifty small reads never gets there. Opening takes longer than dozens of faults, so some are
// taken then: for pages that are in memory, as long as it makes opening little longer.
//
// Nothing depends on it but who is expected to be fastest. Local: the ranks agree elsewhere on how
// far it is.
#pragma once

#include <cstdint>

#include "engine/mapping.hpp"

namespace choir {

/// How many bytes of a file of `size` can be brought in `most_s`, 0 if they are not worth while. A
/// good part of them has been brought when it is known.
std::int64_t worth_bringing(FileMapping& mapping, int fd, std::int64_t size, double most_s);

/// Brings [0, bytes) as far as it can be done in `most_s`. Each rank begins at a place of its own:
/// ranks that meet at a page wait for each other.
void bring_at_hand(FileMapping& mapping, int fd, std::int64_t bytes, double most_s, int rank,
                   int ranks);

}  // namespace choir
