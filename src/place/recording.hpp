// recording.hpp: what a run of a program did to its files, as far as placement needs it, and its
// text form.
//
// The text is read and written here and described in docs/placement.md. Reading checks everything
// and throws std::runtime_error that names the line.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "place/access_run.hpp"
#include "place/pair_sums.hpp"

namespace choir::place {

/// One shape of collective call, offsets relative to its first byte.
struct Pattern {
  GatheredRuns runs;
  std::int64_t span = 0;   ///< first byte to one past the last
  std::int64_t bytes = 0;  ///< of one call
  std::int64_t times = 0;
  bool coarse = false;  ///< ranks with too many runs were replaced by histograms

  bool same_shape(const Pattern& other) const {
    return span == other.span && coarse == other.coarse && runs == other.runs;
  }
};

/// The first byte any rank asks for, the last, and how many in all.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t bytes = 0;
};
Span span_of(const GatheredRuns& runs);

struct Recording {
  /// No more shapes than this are kept; the matrix has the bytes of all.
  static constexpr std::size_t most_patterns = 32;

  int ranks = 0;
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  std::int64_t views = 0;
  bool estimated = false;  ///< some contacts are scaled up from samples
  PairSums call_contacts;  ///< collective calls
  PairSums view_contacts;  ///< one filetype of each view; for programs that never call collectively
  std::vector<Pattern> patterns;

  /// What placement should go by: the calls, or the views of a program without collective calls.
  const PairSums& contacts() const { return call_contacts.empty() ? view_contacts : call_contacts; }
};

/// Adds a shape, or counts it if it is known. Returns false if there is no room for another.
bool add_pattern(Recording& recording, Pattern pattern);

/// Adds `other` to `into`. Throws std::runtime_error if their numbers of ranks differ.
void merge(Recording& into, const Recording& other);

void write(std::ostream& out, const Recording& recording);
Recording read(std::istream& in, const std::string& name);

/// Through a temporary file beside it, so that a reader never sees half a recording. Throws
/// std::runtime_error.
void write_file(const std::string& path, const Recording& recording);
Recording read_file(const std::string& path);

}  // namespace choir::place
