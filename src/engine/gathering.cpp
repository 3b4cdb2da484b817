#include "engine/gathering.hpp"

#include <algorithm>

#include "engine/agreement.hpp"
#include "engine/file.hpp"

namespace choir {

Gathering gathering_of(const Plan& plan, const PlanEntry& pattern, Operation operation,
                       const Neighbourhood& hood, const ArenaShape& shape) {
  if (operation != Operation::write || plan.exchange != Exchange::windows ||
      plan.aggregators.size() != 1 || !hood.one_node() || hood.local_ranks() < 2 ||
      !pattern.adjacent || pattern.total_bytes > std::min(plan.cycle_bytes, shape.capacity))
    return {};
  const auto& aggregator = plan.aggregators.front();
  return {hood.local_of(aggregator.rank), aggregator.seat};
}

void leave_bytes(const Gathering& gathering, Arena& arena, std::int64_t low, const Access& access,
                 const Memory& memory) {
  if (access.bytes() > 0)
    copy_window(Direction::to_window, access, access.begin, access.end, memory,
                arena.data(gathering.seat, 0) - low);
}

Outcome write_left(const Gathering& gathering, Neighbourhood& hood, Room& room, FileAccess& file,
                   std::uint64_t number, Extent span, Outcome left) {
  const auto started = left.elapsed_ns > 0 ? now_ns() : 0;
  int error = 0;
  const Transfer all{span.begin, room.arena->data(gathering.seat, 0), span.size()};
  if (Storage* const storage = file.storage(error))
    error = storage->move(Operation::write, all).error;
  left.error = error_class_of(error);
  if (left.elapsed_ns > 0) left.elapsed_ns += now_ns() - started;
  auto& announcement = room.arena->announcement();
  announcement.error = left.error;
  announcement.elapsed_ns = left.elapsed_ns;
  announcement.number.store(number + 1, std::memory_order_release);
  ring_all(hood, room);
  return left;
}

std::optional<Outcome> told_by_writer(Arena& arena, std::uint64_t number) {
  const auto& announcement = arena.announcement();
  if (announcement.number.load(std::memory_order_acquire) != number + 1) return std::nullopt;
  return Outcome{announcement.error, 0, no_end_of_file, announcement.elapsed_ns, 0, 0};
}

}  // namespace choir
