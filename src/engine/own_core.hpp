// own_core.hpp: a core of its own for a rank that waits for another one on the same core.
//
// The kernel now and then puts two ranks on one core and leaves another idle until it balances its
// cores, some milliseconds later. That is hundreds of small calls, each of which then waits for the
// scheduler twice.
#pragma once

#include <span>

namespace choir {

/// The calling thread goes on on another core than this one: on one it may use that is none of
/// `taken`. What it may use stays as it was. Whether there was one.
bool change_core(std::span<const int> taken);

/// The same, but rarely: whoever had to ask twice within a moment has a reason to be here, and
/// waits twice as long for the next time.
bool change_core_once(std::span<const int> taken);

}  // namespace choir
