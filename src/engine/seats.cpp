#include "engine/seats.hpp"

#include <map>

#include "engine/relay_seat.hpp"
#include "engine/storage_seat.hpp"

namespace choir {

void add_seats(Context& c, Tasks& tasks) {
  const int me = c.hood.rank();
  std::map<int, std::vector<Course>> by_seat;
  for (std::size_t a = 0; a < c.plan.aggregators.size(); ++a)
    if (c.plan.aggregators[a].rank == me)
      by_seat[c.plan.aggregators[a].seat].emplace_back(c, a, true);
  for (auto& [seat, courses] : by_seat)
    tasks.push_back(std::make_unique<StorageSeat>(c, seat, std::move(courses)));

  if (c.plan.relay_of_node.empty()) return;
  const auto& relay = c.plan.relay_of_node[static_cast<std::size_t>(c.hood.node())];
  if (relay.rank != me) return;
  std::vector<Course> courses;
  for (std::size_t a = 0; a < c.plan.aggregators.size(); ++a)
    if (c.hood.topology().node_of(c.plan.aggregators[a].rank) != c.hood.node())
      courses.emplace_back(c, a, false);
  tasks.push_back(std::make_unique<RelaySeat>(c, relay.seat, std::move(courses)));
}

}  // namespace choir
