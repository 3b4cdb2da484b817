#include "plan/estimate.hpp"

#include <algorithm>

namespace choir {
namespace {

/// Calls that share what a mapping costs at first: a program that writes again what it wrote before
/// will do so once more.
constexpr double visits = 4;
/// The page cache keeps a file in pieces of about this size; ranks whose blocks share one wait for
/// each other when they make it writable.
constexpr double page_cache_piece_bytes = 64 << 10;

double total_bytes(const PlanInput& in) {
  double bytes = 0;
  for (const auto& rank : in.ranks) bytes += static_cast<double>(rank.bytes);
  return bytes;
}

double workers(const PlanInput& in) {
  return std::max(
      1, std::min(in.topology.ranks(), in.topology.nodes() * in.topology.cores_per_node()));
}

/// Whether a program that writes again what it wrote before finds it in the caches.
bool is_cached(const PlanInput& in, const Situation& s) {
  const auto bytes = static_cast<double>(s.written_bytes);
  return s.writing && !s.new_ground && bytes > 0 &&
         bytes <= s.machine->cached_bytes_per_core * workers(in);
}

/// What storage takes for a byte and a request.
RequestCost storage_cost(const PlanInput& in, const Situation& s) {
  const auto& machine = *s.machine;
  if (!s.local_file_system) return machine.server;
  if (!s.writing) return machine.read;
  if (s.new_ground) return machine.write_new;
  auto again = machine.write_again;
  if (is_cached(in, s)) again.per_byte = machine.write_cached;
  return again;
}

/// Ranks whose requests storage serves at the same time.
double at_once(const PlanInput& in, const Situation& s) {
  if (s.local_file_system || in.parameters.stripe_servers <= 0) return workers(in);
  return std::min<double>(workers(in), in.parameters.stripe_servers);
}

double meeting(const PlanInput& in, const MachineCosts& machine) {
  if (in.topology.nodes() > 1) return machine.meeting_between;
  return in.topology.ranks() > in.topology.cores_per_node() ? machine.meeting_crowded
                                                            : machine.meeting;
}

/// Part of the bytes that must leave their node if every byte goes to a random node.
double leaving(const PlanInput& in) { return 1.0 - 1.0 / std::max(1, in.topology.nodes()); }

/// Every rank moves its own pieces, `ranks` of them at a time.
double estimate_own(const PlanInput& in, const Situation& s, double ranks) {
  return storage_cost(in, s).at(ranks, total_bytes(in), static_cast<double>(s.pieces));
}

/// Whether a write leaves holes that a device should have no blocks for.
bool is_sparse(const PlanInput& in) {
  constexpr double few_bytes = 1 << 20;
  Extent span{INT64_MAX, INT64_MIN};
  for (const auto& rank : in.ranks)
    if (!rank.empty()) span = {std::min(span.begin, rank.low), std::max(span.end, rank.high)};
  const auto extent = static_cast<double>(span.end) - static_cast<double>(span.begin);
  return extent > 4 * total_bytes(in) + few_bytes;
}

/// What a mapping costs where no call has been before.
double estimate_mapping(const PlanInput& in, const Situation& s, double bytes, double pieces) {
  const auto& machine = *s.machine;
  const double ranks = workers(in);
  if (!s.writing) return machine.map_first + bytes * machine.fault_read.at(ranks);
  if (s.new_ground)
    return machine.map_first + bytes * machine.fault_new.at(ranks) +
           machine.reserve.at(ranks, bytes, 1);
  const bool small = bytes < page_cache_piece_bytes * pieces;
  const double blocks =
      small ? std::min(pieces, bytes / page_cache_piece_bytes + in.topology.ranks()) : 0;
  return (machine.map_again + bytes * machine.fault_again.at(ranks) +
          blocks * machine.fault_block) /
         visits;
}

/// Whether each rank's bytes end before the next rank's begin.
bool ranks_apart(const PlanInput& in) {
  std::int64_t end = 0;
  for (const auto& rank : in.ranks) {
    if (rank.empty()) continue;
    if (rank.low < end) return false;
    end = rank.high;
  }
  return true;
}

/// Storage requests beyond the few large ones, at most: pieces that stay apart. Ranges of
/// everyone's bytes are whole unless nobody asks for some, and sieving makes them whole again;
/// groups that interleave in the file write pieces, as long as the neighbours of a node make them.
double stretches(const Recipe& recipe, const PlanInput& in, double pieces, double bytes) {
  const bool ranges = recipe.partition == Partition::even || recipe.partition == Partition::stripes;
  const double ranks_per_node = static_cast<double>(in.topology.ranks()) / in.topology.nodes();
  if (!ranges) return in.topology.nodes() > 1 ? pieces / ranks_per_node : 0;
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = 0;
  for (const auto& rank : in.ranks)
    if (!rank.empty()) low = std::min(low, rank.low), high = std::max(high, rank.high);
  const double span = bytes > 0 ? static_cast<double>(high - low) : 0;
  const bool sieves =
      recipe.requests == Requests::sieve && bytes >= in.parameters.sieve_threshold * span;
  return bytes < span && !sieves ? pieces : 0;
}

/// The host's aggregators: one on each node, unless the hint cb_nodes asks for fewer.
double host_aggregators(const PlanInput& in) {
  const int nodes = in.topology.nodes();
  return in.parameters.aggregators > 0 ? std::min(nodes, in.parameters.aggregators) : nodes;
}

}  // namespace

double estimate_mapped(const PlanInput& in, const Situation& s) {
  if (!s.local_file_system || in.topology.nodes() != 1 || !s.readable) return not_applicable;
  if (s.writing && (!s.reserves || is_sparse(in))) return not_applicable;
  const auto& machine = *s.machine;
  const double bytes = total_bytes(in), pieces = static_cast<double>(s.pieces);
  const auto& copy = is_cached(in, s) ? machine.copy_cached : machine.copy;
  return bytes * copy.at(workers(in)) + pieces * machine.piece / workers(in) +
         (s.prepared ? 0 : estimate_mapping(in, s, bytes, pieces));
}

/// Two-phase without shared memory: everything passes by the aggregator of the node, which receives
/// it, puts it in order and moves it. But where ranks do not interleave, the usual libraries let
/// each rank move its own bytes.
double estimate_host(const PlanInput& in, const Situation& s) {
  if (!s.host_is_right) return not_applicable;
  const auto& machine = *s.machine;
  const double bytes = total_bytes(in), pieces = static_cast<double>(s.pieces);
  const double aggregators = host_aggregators(in);
  const double ordered = bytes * machine.host.copies * machine.copy.at(1) +
                         pieces * machine.host.pieces * machine.piece +
                         bytes * leaving(in) * machine.network_byte;
  // Across nodes: extents, counts, lists of offsets, data, and the end.
  const double meetings = in.topology.nodes() > 1 ? 5 : 2;
  const double collective = meetings * meeting(in, machine) + ordered / aggregators +
                            storage_cost(in, s).at(aggregators, bytes, aggregators);
  constexpr double besides = 1.1;  // the library's own layers
  const double alone = besides * estimate_own(in, s, at_once(in, s));
  return ranks_apart(in) ? std::min(collective, alone) : collective;
}

double estimate_recipe(const Recipe& recipe, const PlanInput& in, const Situation& s) {
  if (recipe.partition == Partition::stripes &&
      (in.parameters.stripe_unit <= 0 || in.parameters.stripe_servers <= 0))
    return not_applicable;
  if (recipe.partition == Partition::owner) {
    const double ranks = at_once(in, s);
    return estimate_own(
        in, s, recipe.scheduled ? std::min<double>(in.parameters.concurrent, ranks) : ranks);
  }
  const auto& machine = *s.machine;
  const auto storage = storage_cost(in, s);
  const double ranks = workers(in);
  const double bytes = total_bytes(in), pieces = static_cast<double>(s.pieces);
  const double placed = bytes * machine.copy.at(ranks) + pieces * machine.piece / ranks;
  const bool stays = recipe.partition == Partition::node;
  const double network =
      stays ? 0
            : bytes * leaving(in) * machine.network_byte * (recipe.node_first ? 0.8 : 1.0) / ranks;
  const double requests = stretches(recipe, in, pieces, bytes);
  return meeting(in, machine) + storage.per_request.at(1) + placed + network +
         bytes * storage.per_byte.at(ranks) + requests * storage.per_request.at(at_once(in, s)) +
         (recipe.cycles == Cycles::per_rank ? pieces * machine.piece : 0);
}

}  // namespace choir
