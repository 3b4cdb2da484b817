#include "plan/estimate.hpp"

#include <algorithm>

namespace choir {
namespace {

// Rough costs of a present-day node, in seconds; they only order the candidates that are then
// measured.
constexpr double per_request_local = 2e-6;
constexpr double per_read_local = 1e-6;          ///< ranks that read at once hinder each other
constexpr double per_request_remote = 0.5e-3;    ///< a server is asked, and its disk may seek
constexpr double per_handshake_local = 6e-6;     ///< an aggregator opens a window, others fill it
constexpr double per_handshake_crowded = 20e-6;  ///< the same with more ranks than cores
constexpr double per_handshake_remote = 0.2e-3;  ///< the same by messages
constexpr double per_byte_left = 0.03e-9;
constexpr double per_piece = 10e-9;
constexpr double per_byte_memory = 0.15e-9;
constexpr double per_byte_storage = 0.2e-9;
constexpr double per_byte_read_local = 0.15e-9;
constexpr double per_byte_write_local = 0.3e-9;  ///< to pages that are there ...
constexpr double per_byte_cached = 0.075e-9;     ///< ... and in the caches, also by a mapping
constexpr double cached_bytes_per_core = 2 << 20;
// A local file system lets one write of a file pass at a time where it has to find blocks: these
// are for all ranks together.
constexpr double per_byte_new_ground = 0.24e-9;
constexpr double per_write_new_ground = 2.8e-6;
constexpr double per_byte_network = 1e-9;
constexpr double per_byte_page = 0.1e-9;  ///< making pages present in a mapping, for stores ...
constexpr double per_byte_page_again = 0.05e-9;  ///< ... where they are in memory, ...
/// ... and what one of a small block costs besides: ranks whose blocks share a piece of the page
/// cache wait for each other, those of a page or two the most.
constexpr double per_small_block = 2.5e-6, per_tiny_block = 12e-6;
constexpr double small_block_bytes = 64 << 10, tiny_block_bytes = 8 << 10;
/// Calls that share that: a program that writes again what it wrote before will do so once more.
constexpr double visits = 4;
constexpr double per_byte_page_read = 0.04e-9;    ///< the same for loads, many at a time
constexpr double per_first_mapping = 1.2e-6;      ///< the mapping itself, shared by dozens of calls
constexpr double per_first_mapping_again = 4e-6;  ///< a way that nobody has gone yet
constexpr double per_byte_reserve = 0.6e-9;  ///< asking the file system for blocks ahead of stores
constexpr double per_reservation = 5e-6;

double total_bytes(const PlanInput& in) {
  double bytes = 0;
  for (const auto& rank : in.ranks) bytes += static_cast<double>(rank.bytes);
  return bytes;
}

double workers(const PlanInput& in) {
  return std::max(
      1, std::min(in.topology.ranks(), in.topology.nodes() * in.topology.cores_per_node()));
}

double per_request(const Situation& s) {
  if (!s.local_file_system) return per_request_remote;
  return s.writing ? per_request_local : per_read_local;
}

/// Whether a program that writes again what it wrote before finds it in the caches.
bool is_cached(const PlanInput& in, const Situation& s) {
  const auto bytes = static_cast<double>(s.written_bytes);
  return s.writing && !s.new_ground && bytes > 0 && bytes <= cached_bytes_per_core * workers(in);
}

double per_byte_stored(const PlanInput& in, const Situation& s) {
  if (!s.local_file_system) return per_byte_storage;
  if (!s.writing) return per_byte_read_local;
  return is_cached(in, s) ? per_byte_cached : per_byte_write_local;
}

/// Ranks whose requests storage serves at the same time.
double at_once(const PlanInput& in, const Situation& s) {
  if (s.local_file_system || in.parameters.stripe_servers <= 0) return workers(in);
  return std::min<double>(workers(in), in.parameters.stripe_servers);
}

double per_handshake(const PlanInput& in) {
  if (in.topology.nodes() > 1) return per_handshake_remote;
  return in.topology.ranks() > in.topology.cores_per_node() ? per_handshake_crowded
                                                            : per_handshake_local;
}

/// Part of the bytes that must leave their node if every byte goes to a random node.
double leaving(const PlanInput& in) { return 1.0 - 1.0 / std::max(1, in.topology.nodes()); }

bool finds_blocks(const PlanInput& in, const Situation& s) {
  return s.local_file_system && s.writing && s.new_ground && in.topology.nodes() == 1;
}

/// Every rank moves its own pieces, `ranks` of them at a time.
double estimate_own(const PlanInput& in, const Situation& s, double ranks) {
  const double bytes = total_bytes(in), pieces = static_cast<double>(s.pieces);
  if (finds_blocks(in, s)) return bytes * per_byte_new_ground + pieces * per_write_new_ground;
  return (bytes * per_byte_stored(in, s) + pieces * per_request(s)) / ranks;
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
  const bool again = s.writing && !s.new_ground;
  const double per_byte = !s.writing ? per_byte_page_read
                          : again    ? per_byte_page_again
                                     : per_byte_page;
  const double per_block = bytes < tiny_block_bytes * pieces    ? per_tiny_block
                           : bytes < small_block_bytes * pieces ? per_small_block
                                                                : 0;
  const double blocks =
      again ? std::min(pieces, bytes / small_block_bytes + in.topology.ranks()) : 0;
  const double whole = (again ? per_first_mapping_again : per_first_mapping) +
                       bytes * per_byte / workers(in) + blocks * per_block;
  return again ? whole / visits : whole;
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

}  // namespace

double estimate_mapped(const PlanInput& in, const Situation& s) {
  if (!s.local_file_system || in.topology.nodes() != 1 || !s.readable) return not_applicable;
  if (s.writing && (!s.reserves || is_sparse(in))) return not_applicable;
  const double bytes = total_bytes(in), pieces = static_cast<double>(s.pieces);
  const double reserving =
      s.new_ground && s.writing ? bytes * per_byte_reserve / workers(in) + per_reservation : 0;
  const double per_byte = is_cached(in, s) ? per_byte_cached : per_byte_memory;
  return (bytes * per_byte + pieces * per_piece) / workers(in) + reserving +
         (s.prepared ? 0 : estimate_mapping(in, s, bytes, pieces));
}

/// Two-phase without shared memory; but where ranks do not interleave, the usual libraries let
/// each rank move its own bytes.
double estimate_host(const PlanInput& in, const Situation& s) {
  const double bytes = total_bytes(in);
  const double pieces = static_cast<double>(s.pieces);
  const double exchanged =
      2 * (bytes * (2 * per_byte_memory + per_byte_stored(in, s) + leaving(in) * per_byte_network) +
           pieces * 4 * per_piece);
  // Across nodes: extents, counts, lists of offsets, data, and the end.
  const double meetings = in.topology.nodes() > 1 ? 5 : 2;
  const double collective = meetings * per_handshake(in) + per_request(s) + exchanged / workers(in);
  const double alone = 1.1 * estimate_own(in, s, at_once(in, s));
  return ranks_apart(in) ? std::min(collective, alone) : collective;
}

double estimate_recipe(const Recipe& recipe, const PlanInput& in, const Situation& s) {
  if (recipe.partition == Partition::stripes &&
      (in.parameters.stripe_unit <= 0 || in.parameters.stripe_servers <= 0))
    return not_applicable;
  const double bytes = total_bytes(in);
  const double pieces = static_cast<double>(s.pieces);
  if (recipe.partition == Partition::owner) {
    const double ranks = at_once(in, s);
    return estimate_own(
        in, s, recipe.scheduled ? std::min<double>(in.parameters.concurrent, ranks) : ranks);
  }
  const double moved = bytes * (per_byte_memory + per_byte_stored(in, s)) + pieces * per_piece;
  const bool stays = recipe.partition == Partition::node;
  const double network =
      stays ? 0 : bytes * leaving(in) * per_byte_network * (recipe.node_first ? 0.8 : 1.0);
  const double requests = stretches(recipe, in, pieces, bytes) * per_request(s);
  const double first_cycle = per_handshake(in) + per_request(s);
  if (finds_blocks(in, s))
    return first_cycle + bytes * (per_byte_new_ground + per_byte_left) + pieces * per_piece +
           requests;
  return first_cycle + (moved + network) / workers(in) + requests / at_once(in, s) +
         (recipe.cycles == Cycles::per_rank ? pieces * per_piece : 0);
}

}  // namespace choir
