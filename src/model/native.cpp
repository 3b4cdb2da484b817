#include "model/native.hpp"

#include <cmath>

namespace choir::model {
namespace {

constexpr std::int64_t list_entry = 16;
constexpr std::int64_t count_entry = 4;

std::int64_t pieces_of(const Access& access) {
  std::int64_t pieces = 0;
  visit_runs(access.file, access.begin, access.end, [&](const Run& run) { pieces += run.count; });
  return pieces;
}

/// Pieces of all ranks, and how many of them belong to ranks that do not share a node with the
/// aggregator: ranges are equal, so pieces spread over aggregators as bytes do.
void add_lists(Native& native, const Call& call, const Plan& plan) {
  const int step = std::max(1, call.topology.ranks() / 20'000);
  double pieces = 0;
  for (int rank = 0; rank < call.topology.ranks(); rank += step)
    pieces += static_cast<double>(pieces_of(call.workload.access(rank, call.number))) * step;
  double bytes = 0;
  for (const auto& rank : call.ranks) bytes += static_cast<double>(rank.bytes);
  if (bytes == 0) return;
  const double leaving = static_cast<double>(native.traffic.bytes_between_nodes) / bytes;
  native.list_bytes = std::llround(pieces * list_entry * leaving);
  native.most_list_bytes = std::llround(
      pieces * list_entry / static_cast<double>(std::max<std::size_t>(1, plan.aggregators.size())));
}

/// Bruck's all-to-all: every rank sends half of its entries in each of log2(P) rounds.
void add_alltoalls(Native& native, const Call& call) {
  const double ranks = call.topology.ranks(), nodes = call.topology.nodes();
  const double rounds = std::ceil(std::log2(std::max(2.0, ranks)));
  const double leaving = 1 - 1 / std::max(1.0, nodes);
  const double calls = static_cast<double>(native.cycles) + 1;  // and one for the number of pieces
  native.alltoall_messages = std::llround(ranks * rounds * calls * leaving);
  native.alltoall_bytes = std::llround(ranks * rounds * ranks / 2 * count_entry * calls * leaving);
}

}  // namespace

Plan native_plan(const Call& call) {
  Plan plan;
  plan.exchange = Exchange::windows;
  plan.requests = Requests::sieve;
  plan.cycle_bytes = native_cycle_bytes;
  Extent span{INT64_MAX, 0};
  for (const auto& rank : call.ranks)
    if (!rank.empty()) span = {std::min(span.begin, rank.low), std::max(span.end, rank.high)};
  if (span.empty()) return plan;
  const std::int64_t nodes = call.topology.nodes();
  const auto size = (span.size() + nodes - 1) / nodes;
  for (int node = 0; node < call.topology.nodes(); ++node) {
    const auto begin = span.begin + node * size;
    const auto length = std::min(size, span.end - begin);
    if (length > 0)
      plan.aggregators.push_back(
          {call.topology.ranks_of(node).front(), 0, 0, {begin, length, 0, 1}});
  }
  return plan;
}

Native count_native(const Call& call) {
  Native native;
  const auto plan = native_plan(call);
  native.traffic = count_traffic(plan, call);
  // Only what has bytes is sent, and nobody asks before reading: the lists already said it.
  auto& traffic = native.traffic;
  traffic.messages_between_nodes -= traffic.empty_messages;
  traffic.empty_messages = 0;
  for (const auto& aggregator : plan.aggregators)
    native.cycles = std::max(native.cycles, window_count(aggregator.domain, plan.cycle_bytes));
  add_lists(native, call, plan);
  add_alltoalls(native, call);
  // First and last offsets of everyone to everyone.
  const std::int64_t nodes = call.topology.nodes();
  const auto gathered = 2 * 8 * static_cast<std::int64_t>(call.topology.ranks()) * (nodes - 1);
  traffic.metadata_bytes = native.list_bytes + native.alltoall_bytes + gathered;
  traffic.agreement_bytes = traffic.gathered_bytes = 0;
  return native;
}

}  // namespace choir::model
