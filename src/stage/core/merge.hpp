// merge.hpp: a unit's bytes as few, large, ordered requests.
//
// The shares of one collective call are cut into windows of the file; each window becomes one
// request, made of what every share has in it. Costs are per run and window, never per piece. Where
// two ranks of one call overlap, the standard leaves open who wins. Pure.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "access/run.hpp"

namespace choir::stage {

/// The most bytes of the file that one request spans.
inline constexpr std::int64_t request_bytes = 16 << 20;

/// Bytes for the blocks of a run, packed.
struct Source {
  Run run;
  const char* data = nullptr;
};

/// One rank's share: ascending runs and their bytes, packed.
struct Share {
  std::span<const Run> runs;
  const char* data = nullptr;
};

/// What one request writes: sources inside `span`, sorted by their first byte.
struct Window {
  Extent span;
  std::vector<Source> sources;

  std::int64_t bytes() const;
  /// The whole span is one block of one source.
  bool is_block() const;
};

/// Cuts shares into windows, one after the other, in file order.
class Merger {
 public:
  explicit Merger(std::vector<Share> shares) : shares_(std::move(shares)) {}

  /// The next window that has bytes. Nothing left: an empty one.
  Window next();

 private:
  struct Cursor {
    std::size_t run = 0;        ///< first run that is not behind us
    std::int64_t position = 0;  ///< of its bytes in the packed ones
  };
  void add_part(std::size_t share, Extent span, Window& window);
  std::int64_t first_byte_from(std::int64_t offset);

  std::vector<Share> shares_;
  std::vector<Cursor> cursors_ = std::vector<Cursor>(shares_.size());
  std::int64_t offset_ = 0;  // of the file: everything below is done
};

}  // namespace choir::stage
