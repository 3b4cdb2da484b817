#include "access/streaming.hpp"

#include <cstring>

#include "access/lines.hpp"

namespace choir {

#ifdef __SSE2__

void stream_blocks(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                   std::int64_t length, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    copy_by_lines(to + i * to_stride, from + i * from_stride, length,
                  [](__m128i* place, __m128i bytes) { _mm_stream_si128(place, bytes); });
}

void finish_streaming() { _mm_sfence(); }

#else

void stream_blocks(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                   std::int64_t length, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<std::size_t>(length));
}

void finish_streaming() {}

#endif

}  // namespace choir
