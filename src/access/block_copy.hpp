// block_copy.hpp: copying one large block by the way this processor is best at.
//
// Two ways are measured once. `rep movsb` stores whole lines without fetching them first; where
// memory is busy that counts most. Some processors take two to three times as long for it where
// the target begins a little behind the source within a page, and that is where a buffer from
// malloc (16 bytes behind a page) and a block of a file meet. Whole vectors stored at aligned
// places do not mind. memcpy knows neither of the places nor, above some size, of `rep movsb`.
// No MPI; the clock decides how bytes are copied, never which.
#pragma once

#include <cstdint>

namespace choir {

/// Shorter blocks are left to memcpy, which moves them by vectors itself.
constexpr std::int64_t least_large_block = 4096;

enum class CopyWay {
  vectors,  ///< loaded anywhere, stored at aligned places
  string,   ///< `rep movsb`
};

/// The faster way, by where the target begins.
struct CopyWays {
  CopyWay behind = CopyWay::vectors;  ///< a little behind the source within a page
  CopyWay elsewhere = CopyWay::vectors;
};

/// Measured by the first who asks, in some tens of microseconds.
const CopyWays& copy_ways();

/// The target is left in the caches.
void copy_block(char* to, const char* from, std::int64_t length);

/// The same in a given way, however long the block is.
void copy_block_by(CopyWay way, char* to, const char* from, std::int64_t length);

}  // namespace choir
