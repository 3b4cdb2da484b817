#include "multi/joined.hpp"

namespace choir::multi {
namespace {

/// One file's calls [next, end).
struct Queue {
  std::size_t next, end;
};

std::vector<Queue> queues_of(std::span<const HeldCall> calls) {
  std::vector<Queue> queues;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i == 0 || calls[i].file != calls[i - 1].file) queues.push_back({i, i});
    queues.back().end = i + 1;
  }
  return queues;
}

/// Moves what `queue` has for a group that writes, or reads.
void take(std::span<const HeldCall> calls, Queue& queue, bool writing,
          std::vector<std::size_t>& group) {
  const auto first = queue.next;
  while (queue.next < queue.end && calls[queue.next].writing == writing &&
         (queue.next == first || !calls[queue.next].apart))
    group.push_back(queue.next++);
}

}  // namespace

std::vector<std::vector<std::size_t>> join_calls(std::span<const HeldCall> calls) {
  std::vector<std::vector<std::size_t>> groups;
  auto queues = queues_of(calls);
  for (std::size_t taken = 0; taken < calls.size(); taken += groups.back().size()) {
    groups.emplace_back();
    bool writing = false;
    for (auto& queue : queues) {
      if (queue.next == queue.end) continue;
      if (groups.back().empty()) writing = calls[queue.next].writing;
      take(calls, queue, writing, groups.back());
    }
  }
  return groups;
}

}  // namespace choir::multi
