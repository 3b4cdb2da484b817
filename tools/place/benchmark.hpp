// benchmark.hpp: how long placement takes, and how much memory.
#pragma once

namespace choir::place {

/// Records tile patterns of shuffled ranks, places them by setmatch (and mpipp while that is
/// bearable) and prints times and the process's peak memory.
void benchmark(int ranks);

}  // namespace choir::place
