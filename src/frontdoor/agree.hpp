// agree.hpp: a word of all ranks of an open file, between its calls.
#pragma once

#include "engine/file.hpp"

namespace choir {

struct Agreed {
  int worst = MPI_SUCCESS;  ///< of their error classes
  std::int64_t least = 0, most = 0;
};

/// Collective: what all ranks of a file say, once no call of it is under way.
Agreed agree(File& engine, int error_class, std::int64_t mine);

}  // namespace choir
