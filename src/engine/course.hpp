// course.hpp: the windows of one aggregator in their order, and who contributes to each.
//
// Costs one step per contribution, not one per rank and window: windows that a rank's shape leaves
// out are never looked at.
#pragma once

#include <queue>
#include <vector>

#include "engine/task.hpp"

namespace choir {

/// Who meets in one window.
struct Guests {
  std::int64_t window = 0;
  std::vector<int> local;   ///< ranks of this node
  std::vector<int> remote;  ///< ranks, or relays, of other nodes
  Extent wanted;            ///< of the file: first byte anyone may have there to the last
};

class Course {
 public:
  /// As its aggregator sees it, or (without remote ranks) as a relay to that aggregator does.
  Course(Context& context, std::size_t aggregator, bool with_remote);

  Context& context() const { return c_; }
  std::size_t aggregator() const { return aggregator_; }
  bool done() const { return steps_.empty(); }
  /// The next window that somebody contributes to.
  std::int64_t next() const { return steps_.top().window; }
  /// Of calls carried out together the earlier one's windows come first, of one call's the lower.
  bool precedes(const Course& other) const {
    return c_.first_aggregator != other.c_.first_aggregator
               ? c_.first_aggregator < other.c_.first_aggregator
               : next() < other.next();
  }
  /// Who does; moves on to the window after it.
  Guests take();

 private:
  struct Step {
    std::int64_t window;
    int rank;
    bool operator<(const Step& other) const {  // the lowest window is on top
      return window != other.window ? window > other.window : rank > other.rank;
    }
  };

  void add_rank(int rank);
  void invite(Guests& guests, int rank) const;

  Context& c_;
  std::size_t aggregator_;
  std::priority_queue<Step> steps_;
};

}  // namespace choir
