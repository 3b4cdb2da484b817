#include "engine/present.hpp"

#include <sys/mman.h>

namespace choir {
void make_present([[maybe_unused]] char* begin, [[maybe_unused]] std::int64_t bytes,
                  [[maybe_unused]] bool for_writing) {
#ifdef MADV_POPULATE_WRITE
  madvise(begin, static_cast<std::size_t>(bytes),
          for_writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#endif
}

}  // namespace choir
