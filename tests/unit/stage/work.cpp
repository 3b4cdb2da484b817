#include "work.hpp"

#include <memory>

namespace choir::stage::simulation {

Actions Dealer::phase(bool with_truncate) {
  grain_ = 1 + dice_.below(40);
  turn_ = dice_.below(ranks_);
  Actions actions(static_cast<std::size_t>(ranks_));
  if (!with_truncate) {
    deal_calls(actions);
    return actions;
  }
  Action action;
  action.what = Action::What::truncate;
  action.handle = dice_.below(handles);
  action.argument = dice_.below(static_cast<int>(file_bytes));
  actions[static_cast<std::size_t>(turn_)].push_back(action);
  return actions;
}

Actions Dealer::last_phase() {
  auto actions = phase(false);
  for (int handle = 0; handle < handles; ++handle) {
    Action action;
    action.what = Action::What::close;
    action.handle = handle;
    action.call = ++calls_[handle];
    for (auto& mine : actions) mine.push_back(action);
  }
  return actions;
}

/// Some collective writes, and between them what each rank does by itself.
void Dealer::deal_calls(Actions& actions) {
  for (int calls = dice_.below(4); calls >= 0; --calls) {
    const int handle = dice_.below(handles);
    const auto number = calls > 0 ? ++calls_[handle] : 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      auto& mine = actions[static_cast<std::size_t>(rank)];
      deal_alone(mine, rank);
      if (number != 0) mine.push_back(writing(rank, handle, number));
    }
  }
}

void Dealer::deal_alone(std::deque<Action>& actions, int rank) {
  for (int i = dice_.below(3); i > 0; --i) {
    auto action = writing(rank, dice_.below(handles), 0);
    const int kind = dice_.below(8);
    if (kind == 0) action.what = Action::What::size;
    if (kind == 1) action.what = Action::What::sync;
    if (kind >= 2 && kind < 4) action.what = Action::What::check;
    actions.push_back(std::move(action));
  }
}

/// A write into the rank's own bytes of this phase: blocks of the grain, dealt in turn.
Action Dealer::writing(int rank, int handle, std::uint64_t call) {
  const Run block{((rank + turn_) % ranks_) * grain_, grain_, 0, 1};
  Action action;
  action.handle = handle;
  action.call = call;
  action.access.file = {std::make_shared<const Tile>(Runs{block}, std::int64_t{grain_} * ranks_),
                        0};
  const auto most = static_cast<int>(file_bytes / ranks_);
  action.access.begin = dice_.below(most);
  action.access.end = action.access.begin + dice_.below(most) / (1 + dice_.below(4));
  action.data.resize(static_cast<std::size_t>(action.access.bytes()));
  for (auto& byte : action.data) byte = static_cast<unsigned char>(dice_.below(256));
  return action;
}

}  // namespace choir::stage::simulation
