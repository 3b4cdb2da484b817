#include "engine/course.hpp"

#include <algorithm>

namespace choir {

Course::Course(Context& context, std::size_t aggregator, bool with_remote)
    : c_(context), aggregator_(aggregator) {
  const auto& topology = c_.hood.topology();
  for (int node = 0; node < topology.nodes(); ++node)
    if (with_remote || node == c_.hood.node())
      for (const int rank : topology.ranks_of(node)) add_rank(rank);
}

void Course::add_rank(int rank) {
  const auto& aggregator = c_.plan.aggregators[aggregator_];
  if (c_.plan.group(rank) != aggregator.group) return;
  const auto window = next_window(aggregator.domain, c_.plan.cycle_bytes, c_.ranks[rank], 0);
  if (window >= 0) steps_.push({window, rank});
}

Guests Course::take() {
  const auto& domain = c_.plan.aggregators[aggregator_].domain;
  Guests guests;
  guests.window = next();
  const auto window = window_of(domain, c_.plan.cycle_bytes, guests.window);
  const Extent whole{window.offset, window.end()};
  guests.wanted = {whole.end, whole.begin};
  while (!done() && next() == guests.window) {
    const int rank = steps_.top().rank;
    steps_.pop();
    invite(guests, rank);
    const auto summary = c_.ranks[rank];
    const auto part = intersect(summary.span(), whole);
    guests.wanted = {std::min(guests.wanted.begin, part.begin),
                     std::max(guests.wanted.end, part.end)};
    const auto later = next_window(domain, c_.plan.cycle_bytes, summary, guests.window + 1);
    if (later >= 0) steps_.push({later, rank});
  }
  if (!c_.plan.relay_of_node.empty()) guests.wanted = whole;
  std::sort(guests.remote.begin(), guests.remote.end());
  guests.remote.erase(std::unique(guests.remote.begin(), guests.remote.end()), guests.remote.end());
  return guests;
}

/// A relay speaks for all ranks of its node, once.
void Course::invite(Guests& guests, int rank) const {
  const int node = c_.hood.topology().node_of(rank);
  if (node == c_.hood.node())
    guests.local.push_back(rank);
  else if (c_.plan.relay_of_node.empty())
    guests.remote.push_back(rank);
  else
    guests.remote.push_back(c_.plan.relay_of_node[static_cast<std::size_t>(node)].rank);
}

}  // namespace choir
