// joint_plan.hpp: the plans of the calls that one multi-collective carries out together.
//
// Pure: no MPI, clock or globals. Equal input gives equal plans on every rank.
#pragma once

#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace choir::multi {

/// What a byte moved inside a node costs, compared with one moved between nodes.
inline constexpr double intra_node_cost = 0.25;

/// One plan per member, in which each file has aggregators of its own: more files than aggregators,
/// and each file has one; fewer, and the aggregators are shared out by the files' bytes. Which one
/// is decided by assign_greedy(): a rank of the node that asks most.
///
/// A node has as many aggregators as in any other plan (it has that many cycle buffers); those of
/// its ranks that ask for most are taken. The members' topologies are the same; the parameters of
/// the first decide on numbers, and on each file's cuts its own.
std::vector<Plan> plan_assigned(std::span<const PlanInput> members);

/// Gives the aggregators of all plans cycle buffers such that a rank has the same one in all, and
/// no two ranks share one. False if a node has fewer than it would need.
bool seat_together(std::span<Plan> plans, const Topology& topology, int seats_per_node);

}  // namespace choir::multi
