// copy.hpp: moving stream bytes between two layouts, such as a program's buffer and a cycle buffer.
//
// Costs are per run where the two sides have equal blocks; loops for small and power-of-two blocks
// are specialised, since 64-byte pieces are what programs complain about. Pure: no MPI.
#pragma once

#include "access/layout.hpp"

namespace choir {

/// How the target is written: `streaming` past the caches, for many bytes that are not needed again
/// soon (see streaming.hpp).
enum class Stores { cached, streaming };

/// Copies `count` blocks of `length` bytes between two strided places.
void copy_blocks(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                 std::int64_t length, std::int64_t count, Stores stores = Stores::cached);

enum class Direction { to_window, from_window };

/// The program's buffer: an address for every stream byte of a call.
struct Memory {
  Layout layout;  ///< origins and offsets are addresses
};

/// Copies stream bytes [begin, end) of `access` between `memory` (whose stream starts at
/// access.begin) and a window, in which file offset x lives at window + x.
void copy_window(Direction direction, const Access& access, std::int64_t begin, std::int64_t end,
                 const Memory& memory, char* window, Stores stores = Stores::cached);

/// Copies the memory's stream bytes [begin, end) to or from a packed buffer.
void copy_packed(Direction direction, const Memory& memory, std::int64_t begin, std::int64_t end,
                 char* packed);

/// Copies packed bytes to or from the places the runs name: byte x lives at base + x.
void copy_runs(Direction direction, const Runs& runs, char* packed, char* base);

}  // namespace choir
