// residency.hpp: whether a file's bytes are in memory, and whether its storage has blocks for them.
#pragma once

#include <cstdint>

namespace choir {

/// Local. Asks the kernel about a few dozen pages spread over the file; at least half of them are
/// in memory.
bool mostly_resident(int fd, std::int64_t size);

}  // namespace choir
