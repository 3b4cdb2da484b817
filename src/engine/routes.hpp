// routes.hpp: this rank's lanes in calls that are carried out together.
//
// An aggregator's rank serves the calls in their order on its two cycle buffers. So towards each
// such rank the lanes of two calls are under way at once: more would only share the link with those
// that are waited for, and hold memory.
#pragma once

#include <deque>
#include <map>

#include "engine/task.hpp"

namespace choir {

class Routes {
 public:
  /// Adds the lanes of a call; calls come in the order in which aggregators serve them.
  void add(Context& call);
  bool poll();
  bool done() const { return towards_.empty(); }
  void clear() { towards_.clear(); }

 private:
  /// Of an aggregator's rank: lanes of one call after the other.
  std::map<int, std::deque<Tasks>> towards_;
};

}  // namespace choir
