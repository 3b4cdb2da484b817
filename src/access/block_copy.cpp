#include "access/block_copy.hpp"

#include <cstring>

#include "access/lines.hpp"

namespace choir {

void copy_block(char* to, const char* from, std::int64_t length) {
#ifdef __SSE2__
  if (length >= least_vector_bytes)
    return copy_by_lines(to, from, length,
                         [](__m128i* place, __m128i bytes) { _mm_store_si128(place, bytes); });
#endif
  std::memcpy(to, from, static_cast<std::size_t>(length));
}

}  // namespace choir
