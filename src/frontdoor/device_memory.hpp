// device_memory.hpp: whether a buffer is in the memory of a GPU, where choir cannot reach it.
//
// Local. Only libraries that the program has loaded already are asked, and only for what they know
// of a pointer: nothing is initialised. A program without them pays for one look at the loader's
// count.
#pragma once

#include <cstdint>

#include "access/layout.hpp"

namespace choir {

/// Any byte of the stream [0, bytes) of a buffer. The parts of one datatype may be in different
/// memories.
bool in_device_memory(const Layout& buffer, std::int64_t bytes);

}  // namespace choir
