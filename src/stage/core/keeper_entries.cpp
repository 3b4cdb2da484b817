// keeper_entries.cpp: how the keeper takes note of entries, and answers those that only ask.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "stage/core/keeper.hpp"

namespace choir::stage {

bool Keeper::take_entries(std::size_t i) {
  auto& part = parts_[i];
  const auto committed = part.committed();
  const bool any = taken_[i] < committed;
  while (taken_[i] < committed) {
    const auto number = ++taken_[i];
    const auto& entry = part.slot(number);
    const auto state = entry.state.load(std::memory_order_acquire);
    if (is_final(state) || entry.words.number > number) continue;  // an earlier keeper's
    if (const auto words = part.words_of(number)) {
      take(i, *words, state);
    } else {
      ++counts_.damaged;
      part.settle(number, State::failed, EBADMSG);
    }
  }
  return any;
}

void Keeper::take(std::size_t i, const Words& words, State state) {
  const Item item{words, static_cast<int>(i)};
  ++counts_.entries;
  ++held_[i];
  const auto found = files_.find(words.inode);
  if (found == files_.end() || !found->second.queue.knows(words.open))
    return lose(item, State::failed, EBADF);
  auto& queue = found->second.queue;
  if (const int error = queue.opening(words.open).error; error != 0 && words.kind != Kind::close)
    return lose(item, State::failed, error);
  if (state == State::held)
    queue.add(item);
  else
    queue.add_written(item, state == State::whole);
}

/// An earlier keeper may have died between the shares of a call that was over.
void Keeper::finish_what_was_begun() {
  if (std::exchange(has_begun_, true)) return;
  for (auto& [inode, file] : files_) tell_over(file.queue.take_all_over());
}

/// Fences and questions for the size: they change nothing and wait for nobody's turn.
bool Keeper::answer_questions(std::int64_t horizon) {
  bool any = false;
  for (auto& [inode, file] : files_) {
    std::vector<Item> answered;
    for (const auto& item : file.queue.items()) {
      if (item.words.stamp > horizon) break;
      if (item.words.kind == Kind::size) {
        tell(item, State::settled, 0,
             file.queue.size_after(disk_.size(item.words.open), item.words.stamp));
        answered.push_back(item);
      } else if (item.words.kind == Kind::fence && !file.queue.holds_back(item)) {
        tell(item, State::settled);
        answered.push_back(item);
      }
    }
    for (const auto& item : answered) file.queue.remove({{item}});
    any = any || !answered.empty();
  }
  return any;
}

}  // namespace choir::stage
