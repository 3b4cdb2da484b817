// partition.hpp: how the work is cut, and among whom.
#pragma once

#include "plan/plan.hpp"

namespace choir {

/// With less to do than this, an aggregator is not worth its while.
inline constexpr std::int64_t least_bytes_per_aggregator = 64 * 1024;

/// Whether the ranks' bytes certainly leave none of their common span out: blocks in any order, or
/// blocks that interleave regularly.
bool fill_their_span(std::span<const RankSummary> ranks);

/// The bytes from the first asked to the last, over the given ranks.
Extent span_of(std::span<const RankSummary> ranks, std::span<const int> members);
std::int64_t bytes_of(std::span<const RankSummary> ranks, std::span<const int> members);

/// `parts + 1` ascending cuts of the members' span, each range with about equally many bytes asked
/// (a rank's bytes are taken as spread evenly over its span). Inner cuts are multiples of `align`.
std::vector<std::int64_t> cut_by_bytes(std::span<const RankSummary> ranks,
                                       std::span<const int> members, int parts, std::int64_t align);

/// Ranks with something to do, in the order of their data in the file, cut into groups of
/// `group_size`.
std::vector<std::vector<int>> groups_by_layout(std::span<const RankSummary> ranks, int group_size);

/// Nodes in the order of their data in the file, so that neighbouring ranges go to neighbouring
/// nodes.
std::vector<int> nodes_by_data(const PlanInput& in);

}  // namespace choir
