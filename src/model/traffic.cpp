#include "model/traffic.hpp"

#include "model/counters.hpp"

namespace choir::model {
namespace {

/// What the leaders put into the reductions of opening and closing, and for a new pattern into the
/// gathering of everyone's ballot.
void add_agreement(Traffic& traffic, const Call& call) {
  const std::int64_t nodes = call.topology.nodes(), ranks = call.topology.ranks();
  if (nodes < 2) return;
  traffic.agreement_bytes = nodes * (opening_bytes + closing_bytes);
  if (!call.new_pattern) return;
  traffic.agreement_bytes += ballot_bytes * ranks;
  traffic.gathered_bytes = ballot_bytes * ranks * (nodes - 1);
}

}  // namespace

Traffic count_traffic(const Plan& plan, const Call& call) {
  Traffic traffic;
  if (plan.exchange == Exchange::windows) traffic = count_windows(plan, call);
  if (plan.exchange == Exchange::slots) traffic = count_slots(plan, call);
  add_agreement(traffic, call);
  return traffic;
}

}  // namespace choir::model
