// joined.hpp: which nonblocking calls are carried out together.
//
// Pure: no MPI, clock or globals. Equal input gives equal groups on every rank.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace choir::multi {

/// A call that waits to be joined with others, as all ranks know it.
struct HeldCall {
  int file = 0;
  bool writing = false;
  /// A call that is not joined (a blocking or a split one) was made on the file since the held one
  /// before: both keep their place, so this one cannot go together with the one before.
  bool apart = false;
};

/// Groups of indices into `calls`, to be carried out one after the other. A group reads or writes,
/// and has each file's calls in their order. `calls` has the files one after the other, and each
/// file's calls in the order they were made.
std::vector<std::vector<std::size_t>> join_calls(std::span<const HeldCall> calls);

}  // namespace choir::multi
