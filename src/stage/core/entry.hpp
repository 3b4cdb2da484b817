// entry.hpp: what a rank says of one thing it gives away or asks for.
//
// Entries live in the hold, in memory that outlives the keeper: fixed size, no pointers, checked by
// a sum, so that whoever maps the hold can go on where another stopped. Pure: no MPI, no system.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "access/run.hpp"

namespace choir::stage {

/// A file, whatever its names are.
struct Inode {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  auto operator<=>(const Inode&) const = default;
};

/// What an entry asks for: by its rank alone, or as the rank's share of a collective call.
enum class Kind : std::uint16_t {
  write,     ///< bytes
  fence,     ///< settled when what was held before it, in its span, is in the file
  size,      ///< answer: the file's size as the program sees it
  grow,      ///< the file has at least `argument` bytes
  truncate,  ///< the file has `argument` bytes from now on
  sync,      ///< settled when what was held before it is durable
  close,     ///< nobody writes by this open any more
};

/// What became of an entry. Only `held` needs its bytes; the last three are final.
enum class State : std::uint32_t {
  held,     ///< acknowledged; the bytes are in the hold alone
  written,  ///< in the file, but other ranks have still to make the call
  whole,    ///< in the file with all the others' shares; these are about to be told
  settled,  ///< in the file, or answered
  failed,   ///< could not be; `error` says why
  dropped,  ///< waited for a collective call that a dead rank never made
};

constexpr bool is_final(State state) { return state >= State::settled; }

/// What the rank says. Written before the entry is committed, and never after.
struct Words {
  std::uint64_t number = 0;  ///< of this rank's entries, from 1
  std::int64_t stamp = 0;    ///< the node's clock when it was committed
  std::uint64_t open = 0;    ///< which open of the file, the same on all its ranks
  Inode inode;
  std::uint64_t call = 0;  ///< number of the collective call on that open; 0: by the rank alone
  std::int64_t argument = 0;
  std::uint64_t place = 0;  ///< in the arena: the runs, then the bytes they name, packed
  std::int64_t bytes = 0;
  Extent span;  ///< of the file
  std::uint32_t runs = 0;
  Kind kind = Kind::write;
  std::uint16_t more = 0;  ///< 1: this rank's share of the call goes on in a later entry
};

/// FNV-1a over the words. Guards against the rank's own wild pointers, not against malice.
inline std::uint32_t sum_of(const Words& words) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&words);
  std::uint32_t sum = 2166136261U;
  for (std::size_t i = 0; i < sizeof words; ++i) sum = (sum ^ bytes[i]) * 16777619U;
  return sum;
}
static_assert(std::has_unique_object_representations_v<Words>, "no padding in the sum");

struct Entry {
  Words words;
  std::uint32_t sum = 0;
  std::int32_t error = 0;   ///< errno; valid once failed
  std::int64_t answer = 0;  ///< valid once settled
  std::atomic<State> state = State::held;
};
static_assert(std::atomic<State>::is_always_lock_free);

}  // namespace choir::stage
