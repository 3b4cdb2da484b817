// traffic.hpp: what the engine would move between ranks, counted without moving it.
//
// Messages follow from summaries (a rank sends to every window its shape has a byte in), bytes from
// arithmetic on runs, so a million ranks take seconds. Bytes are exact for any pattern whose ranks
// do not overlap, messages too until a budget of steps is spent; beyond it they are scaled up from
// evenly spread ranks, and `sampled` says so. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "model/workload.hpp"
#include "plan/plan.hpp"

namespace choir::model {

struct Call {
  const Workload& workload;
  std::int64_t number = 0;
  const Topology& topology;
  std::span<const RankSummary> ranks;
  Parameters parameters;
  bool writing = true;
  bool new_pattern = true;  ///< everyone's ballot is gathered
};

/// Sums over all ranks of one call, in the engine's sense (engine/task.hpp).
struct Traffic {
  std::int64_t bytes_in_node = 0;
  std::int64_t bytes_between_nodes = 0;  ///< data that crossed, once each
  std::int64_t messages_between_nodes = 0;
  std::int64_t empty_messages = 0;   ///< of those, without a byte of data
  std::int64_t metadata_bytes = 0;   ///< headers and descriptions of packets
  std::int64_t agreement_bytes = 0;  ///< put into opening and closing by the leaders of the nodes
  std::int64_t gathered_bytes = 0;   ///< of ballots, as they arrive at all other nodes
  std::int64_t cycles = 0;           ///< windows (or rounds) of all aggregators
  std::int64_t most_bytes_of_node = 0;  ///< data that enters or leaves the busiest node
  /// The same where links are used one after the other; only found for small jobs.
  std::int64_t paced_bytes_of_node = 0;
  std::int64_t most_messages_of_node = 0;
  bool sampled = false;

  bool operator==(const Traffic&) const = default;
};

Traffic count_traffic(const Plan& plan, const Call& call);

/// Static segmentation: what one packet can hold, by the arithmetic of engine/slots.cpp.
struct SlotShape {
  std::int64_t data = 0;
  std::size_t most_runs = 1;
};
SlotShape slot_shape(const Plan& plan, const Parameters& parameters, std::int64_t members);
/// Adds the runs of the packet that begins at a stream position, and returns where it ends.
std::int64_t slot_portion(const Access& access, std::int64_t begin, const SlotShape& shape,
                          Runs& runs);

}  // namespace choir::model
