// recorder.hpp: adds up, on rank 0, what the ranks of a program ask of their files.
//
// Local: the caller gathers. Several files, views and layouts of one run are added up with their
// bytes. A call of a known shape (a checkpoint loop that moves on through the file) costs one
// comparison. Memory: bounded by Recording::most_patterns shapes, each with a bounded number of
// runs per rank.
#pragma once

#include <cstdint>
#include <vector>

#include "place/recording.hpp"

namespace choir::place {

class Recorder {
 public:
  explicit Recorder(int ranks);

  /// A collective read or write: the bytes each rank asks for. Ranks without any have no runs.
  /// Throws std::invalid_argument if there are not runs for every rank.
  void add_call(const GatheredRuns& runs);
  /// A view: the bytes of one filetype of each rank, displaced.
  void add_view(const GatheredRuns& runs);

  /// What was recorded so far.
  Recording recording() const;

 private:
  void check(const GatheredRuns& runs) const;

  struct Contacts {
    std::uint64_t key = 0;  ///< of the shape as it was asked, before histograms
    std::int64_t times = 0;
    PairSums sums;
  };

  Recording recording_;          ///< with the shapes, but without the contacts of `known_`
  std::vector<Contacts> known_;  ///< parallel to recording_.patterns
};

/// The shape of a call, relative to its first byte. Ranks with many runs become histograms over the
/// span.
Pattern pattern_of(const GatheredRuns& runs);

}  // namespace choir::place
