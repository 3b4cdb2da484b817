// streaming.hpp: stores that go past the caches.
//
// A plain store first fetches the line it is about to overwrite and pushes another out of the
// cache. For bytes that are many and not needed again soon (a file's pages, a large read buffer)
// both are wasted: whole lines stored past the caches move about twice as many bytes a second
// where two cores share the memory. Where the processor has no such stores, these are plain copies.
// Pure: no MPI.
#pragma once

#include <cstdint>

namespace choir {

/// Shorter blocks hold too few whole lines to gain anything.
constexpr std::int64_t least_streamed_bytes = 64;

/// Copies `count` blocks of `length` bytes between two strided places; whole lines of the target go
/// past the caches. Others see the bytes only after finish_streaming().
void stream_blocks(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                   std::int64_t length, std::int64_t count);

/// Orders streamed bytes before whatever tells others of them.
void finish_streaming();

}  // namespace choir
