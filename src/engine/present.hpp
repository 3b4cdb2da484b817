// present.hpp: memory made present before anybody's call is timed.
//
// A page that is touched for the first time costs a microsecond or two: little, but the first calls
// of a file meet dozens of them, and a program may make only a few small calls.
#pragma once

#include <cstdint>

namespace choir {

/// Where the kernel cannot do it, pages come when they are touched, as usual.
void make_present(char* begin, std::int64_t bytes, bool for_writing);

}  // namespace choir
