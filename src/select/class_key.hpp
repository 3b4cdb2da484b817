// class_key.hpp: which calls are alike enough to be compared.
//
// Exact patterns would make every call of a particle code, of adaptive grids or of compressed
// chunks a new one, about which nothing is known. A class has sizes as powers of two, and how the
// ranks' bytes lie to each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace choir::select {

/// How the bytes of different ranks lie in the file.
enum class Layout {
  apart,        ///< each rank's bytes end before the next rank's begin, with gaps between
  adjacent,     ///< the same, without gaps between
  interleaved,  ///< ranks' spans overlap
};

/// What the storage finds where the call goes.
enum class Ground {
  beyond,     ///< writes beyond the end of the file
  inside,     ///< writes where the file has bytes, but not from us since it was opened
  rewritten,  ///< writes where we wrote before
  warm,       ///< reads of what is in memory
  cold,       ///< reads of what is not
  prepared,   ///< a call by mapping has been there and left its pages
};

struct ClassKey {
  bool writing = false;
  int bytes = 0;  ///< log2 of all ranks' bytes
  int piece = 0;  ///< log2 of the mean contiguous piece
  Layout layout = Layout::apart;
  bool holes = false;  ///< bytes nobody asks for lie within ranks' spans
  bool even = true;    ///< all ranks that ask for anything ask for about the same
  Ground ground = Ground::beyond;
  int files = 1;  ///< of one call: more than one when calls are joined

  auto operator<=>(const ClassKey&) const = default;
  /// As the user reads it and as it is stored: "write 16M by 512 interleaved gaps even beyond".
  std::string text() const;
  static std::optional<ClassKey> parse(std::string_view text);
  /// For traces; different classes have different numbers.
  std::uint64_t number() const;
};

/// What one rank asks for.
struct Share {
  std::int64_t low = 0, high = 0, bytes = 0;
};

/// The sizes and the layout of a call; operation, ground and files are the caller's.
ClassKey shape_class(std::span<const Share> ranks, std::int64_t pieces);

/// The same for all calls of an open file. Evidence of another site is of no use.
struct Site {
  int ranks = 1;
  int nodes = 1;
  std::string host_kind;  ///< processor and cores
  std::string mount;      ///< where the file system is mounted, and its type
  std::string mpi;        ///< the host MPI

  auto operator<=>(const Site&) const = default;
};

}  // namespace choir::select
