// block_copy.hpp: copying one large block.
//
// For blocks of some kilobytes memcpy leaves the work to `rep movsb`. Some processors take two to
// three times as long for it where the target begins a little behind the source within a page, and
// that is where a buffer from malloc (16 bytes behind a page) and a block of a file meet. Whole
// vectors stored at aligned places do not mind. Pure: no MPI.
#pragma once

#include <cstdint>

namespace choir {

/// Shorter blocks are left to memcpy, which moves them by vectors itself.
constexpr std::int64_t least_vector_bytes = 2048;

/// The target is left in the caches.
void copy_block(char* to, const char* from, std::int64_t length);

}  // namespace choir
