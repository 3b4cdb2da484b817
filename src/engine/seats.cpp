#include "engine/seats.hpp"

#include <map>

#include "engine/relay_seat.hpp"
#include "engine/storage_seat.hpp"

namespace choir {
namespace {

void add_relay(Context& c, Tasks& tasks) {
  if (c.plan.relay_of_node.empty()) return;
  const auto& relay = c.plan.relay_of_node[static_cast<std::size_t>(c.hood.node())];
  if (relay.rank != c.hood.rank()) return;
  std::vector<Course> courses;
  for (std::size_t a = 0; a < c.plan.aggregators.size(); ++a)
    if (c.hood.topology().node_of(c.plan.aggregators[a].rank) != c.hood.node())
      courses.emplace_back(c, a, false);
  if (courses.empty()) return;
  tasks.push_back(std::make_unique<RelaySeat>(relay.seat, std::move(courses)));
}

}  // namespace

void add_seats(std::span<Context* const> calls, Tasks& tasks) {
  std::map<int, std::vector<Course>> by_seat;
  for (auto* call : calls)
    for (std::size_t a = 0; a < call->plan.aggregators.size(); ++a)
      if (call->plan.aggregators[a].rank == call->hood.rank())
        by_seat[call->plan.aggregators[a].seat].emplace_back(*call, a, true);
  for (auto& [seat, courses] : by_seat)
    tasks.push_back(std::make_unique<StorageSeat>(seat, std::move(courses)));
  for (auto* call : calls) add_relay(*call, tasks);
}

}  // namespace choir
