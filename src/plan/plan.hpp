// plan.hpp: who does what in one collective call, as a value.
//
// Pure: no MPI, clock or globals. Equal input gives an equal plan on every rank, so plans are never
// exchanged; and a plan for a million imaginary ranks is computed the same way as one for two.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access/run.hpp"
#include "plan/shape.hpp"
#include "plan/topology.hpp"

namespace choir {

/// What every rank knows of every other rank's request.
struct RankSummary {
  std::int64_t low = 0;   ///< first byte asked
  std::int64_t high = 0;  ///< one past the last byte asked; equal to low if nothing is asked
  std::int64_t bytes = 0;
  Shape shape{};  ///< where in the span; relative, so it moves with the span

  bool empty() const { return bytes == 0; }
  Extent span() const { return {low, high}; }
  bool operator==(const RankSummary&) const = default;
};

/// Everyone's request as it was first seen, and how far it has moved since: calls that walk through
/// a file do not copy what a million ranks ask for.
struct Summaries {
  std::span<const RankSummary> first_seen;
  std::int64_t shift = 0;

  RankSummary operator[](int rank) const {
    auto one = first_seen[static_cast<std::size_t>(rank)];
    one.low += shift;
    one.high += shift;
    return one;
  }
};

/// Numbers of the papers that a user may set.
struct Parameters {
  int aggregators_per_node = 0;  ///< 0: by cores
  int aggregators = 0;           ///< in all; 0: no limit (the hint cb_nodes)
  int aggregators_per_server = 1;
  std::int64_t cycle_bytes = 4 << 20;  ///< one cycle buffer of an aggregator
  bool scaling = false;                ///< cycle buffers grow with the ranks they serve
  std::int64_t most_cycle_bytes = 4 << 20;
  int group_size = 0;         ///< ranks in a segmentation group; 0: as many as a node has
  int writers_per_group = 0;  ///< 0: one, as in the paper; on a single node by cores
  int turn = 0;               ///< of the file: where a choice of few aggregators among many begins
  int concurrent = 2;         ///< ranks in storage at a time, scheduled_individual
  double sieve_threshold = 0.5;  ///< sieve only where at least this part of a window is asked
  std::int64_t stripe_unit = 0;  ///< 0: not striped, or unknown
  int stripe_servers = 0;

  bool operator==(const Parameters&) const = default;
};

/// A cycle buffer where nobody set one: it should stay in an aggregator's cache, unless the ranks
/// of the only node share cores. Each window then costs them a sleep and a wake-up, so that windows
/// are better few and large.
constexpr std::int64_t default_cycle_bytes(int nodes, int ranks, int cores_per_node) {
  const bool crowded = nodes == 1 && ranks > cores_per_node;
  return std::int64_t{crowded ? 4 : 1} << 20;
}

/// Values already agreed by all ranks.
struct PlanInput {
  const Topology& topology;
  std::span<const RankSummary> ranks;
  Parameters parameters;
  int seats_per_node = 1;  ///< cycle buffers a node has
};

enum class Exchange {
  none,     ///< every rank moves its own bytes
  windows,  ///< bytes are placed at their final position in a window of the file
  slots,    ///< every rank fills a slot of its writer's buffer
  mapped,   ///< ranks store into a shared mapping of the file
  host,     ///< the host MPI's own collective
};

enum class Requests {
  list,      ///< one request per stretch of bytes; what nobody asked for is never touched
  coalesce,  ///< list, of stretches merged over ranks
  sieve,     ///< holes read and written back where that is cheaper
};

/// A rank that talks to storage for others. Its domain is a run of the file: one range, or one
/// server's stripes.
struct Aggregator {
  int rank = 0;
  int group = 0;
  int seat = 0;  ///< which cycle buffer of its node
  Run domain;

  bool operator==(const Aggregator&) const = default;
};

/// On one node, the rank that gathers what the node has for aggregators elsewhere.
struct Relay {
  int rank = 0;
  int seat = 0;
  bool operator==(const Relay&) const = default;
};

struct Plan {
  Exchange exchange = Exchange::none;
  Requests requests = Requests::list;
  int concurrent = 0;  ///< Exchange::none: ranks in storage at a time; 0: all
  int turn = -1;       ///< the files' turn it was made for; -1: it is the same for all
  std::int64_t cycle_bytes = 0;
  std::vector<Aggregator> aggregators;
  std::vector<int> group_of;         ///< per rank; empty: everyone is in group 0
  std::vector<int> writer_of;        ///< Exchange::slots: per rank, an index into aggregators
  std::vector<Relay> relay_of_node;  ///< not empty: node first, then between nodes

  int group(int rank) const {
    return group_of.empty() ? 0 : group_of[static_cast<std::size_t>(rank)];
  }
  /// The same plan for a file position `delta` bytes further.
  /// No rank needs another to carry it out.
  bool independent() const {
    return exchange == Exchange::mapped || (exchange == Exchange::none && concurrent == 0);
  }
  void shift(std::int64_t delta);
  std::size_t memory_bytes() const;
  bool operator==(const Plan&) const = default;
};

/// Windows of a domain: window `index` is a run of at most `cycle_bytes` bytes.
std::int64_t window_count(const Run& domain, std::int64_t cycle_bytes);
Run window_of(const Run& domain, std::int64_t cycle_bytes, std::int64_t index);
/// The windows whose span meets `range`: [first, last).
Extent windows_meeting(const Run& domain, std::int64_t cycle_bytes, Extent range);
/// The window that holds a byte of the domain.
std::int64_t window_at(const Run& domain, std::int64_t cycle_bytes, std::int64_t offset);
/// The first window from `from` on that the rank contributes to: its shape has a byte in it. -1:
/// none. Sender and receiver of a message both go by this.
std::int64_t next_window(const Run& domain, std::int64_t cycle_bytes, const RankSummary& rank,
                         std::int64_t from);

}  // namespace choir
