// overlap.hpp: how runs, domains and windows meet, by arithmetic instead of by walking over blocks.
//
// Everything here is exact; a run of a million blocks costs as much as a run of two. Pure.
#pragma once

#include "access/layout.hpp"
#include "plan/plan.hpp"

namespace choir::model {

/// Windows of the domain that begin before `offset`, and those that end at or before it.
std::int64_t windows_begun(const Run& domain, std::int64_t cycle_bytes, std::int64_t offset);
std::int64_t windows_ended(const Run& domain, std::int64_t cycle_bytes, std::int64_t offset);

/// The windows [first, last) of the domain that hold at least one byte of `range`. A window of
/// several blocks has holes, so these can be fewer than the windows whose span meets the range.
Extent windows_holding(const Run& domain, std::int64_t cycle_bytes, Extent range);

/// Bytes that two runs have in common. Both ascend and neither overlaps itself.
std::int64_t common_bytes(const Run& a, const Run& b);

/// Bytes of `access` in `domain`.
std::int64_t bytes_in(const Access& access, const Run& domain);

/// What `access` has in the window, in buffer coordinates, joined as the engine joins it.
Runs runs_in(const Access& access, const Run& window);

}  // namespace choir::model
