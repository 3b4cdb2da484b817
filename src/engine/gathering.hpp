// gathering.hpp: small writes of neighbours, left in one rank's buffer and written in one request.
//
// The kernel lets one write of a file pass at a time, and of a small one most is the way there and
// back. So where the ranks of a node ask for one block each, one after the other in the file, and a
// plan has one aggregator and one window for all of them, a known pattern needs no opening of that
// window: every rank leaves its block in the aggregator's buffer before the ranks meet, the
// aggregator writes once all have come, and tells the others how that went.
#pragma once

#include <optional>

#include "engine/plan_cache.hpp"
#include "engine/task.hpp"

namespace choir {

/// Who writes what the others have left, and where they leave it.
struct Gathering {
  int writer = -1;  ///< local number of the rank; -1: the call is not gathered
  int seat = 0;

  explicit operator bool() const { return writer >= 0; }
};

/// How a call of this pattern is gathered by its plan, if it can be; the same on all ranks.
Gathering gathering_of(const Plan& plan, const PlanEntry& pattern, Operation operation,
                       const Neighbourhood& hood, const ArenaShape& shape);

/// Before the ranks meet: `low` is where everyone's bytes begin in the file.
void leave_bytes(const Gathering& gathering, Arena& arena, std::int64_t low, const Access& access,
                 const Memory& memory);

/// The writer, once all have come to meeting `number`: writes `span`, and tells the others.
Outcome write_left(const Gathering& gathering, Neighbourhood& hood, Room& room, FileAccess& file,
                   std::uint64_t number, Extent span, Outcome left);

/// The others: how it went; nothing yet.
std::optional<Outcome> told_by_writer(Arena& arena, std::uint64_t number);

}  // namespace choir
