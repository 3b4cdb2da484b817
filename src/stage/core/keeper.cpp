#include "stage/core/keeper.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace choir::stage {

Keeper::Keeper(std::vector<Part> parts, Disk& disk, Grants grants, KeeperPolicy policy)
    : parts_(std::move(parts)),
      disk_(disk),
      grants_(std::move(grants)),
      policy_(policy),
      held_(parts_.size()) {
  // An entry whose slot was used again is over: no older ones can be held.
  for (const auto& part : parts_)
    taken_.push_back(part.committed() > part.slots() ? part.committed() - part.slots() : 0);
  grants_.begin(parts_);
}

void Keeper::opened(std::uint64_t open, Inode inode, int rank, std::uint64_t expected, int error) {
  auto& opening = files_[inode].queue.opening(open);
  opening.expected = expected;
  opening.ranks.insert(rank);
  if (error != 0) opening.error = error;
}

bool Keeper::poll(std::int64_t now) {
  bool any = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) any = take_entries(i) || any;
  finish_what_was_begun();
  for (const auto i : grants_.answer(parts_, [&](std::size_t part) { return held_[part] > 0; })) {
    disk_.note_told(static_cast<int>(i));
    any = true;
  }
  any = answer_questions(now) || any;
  abandon_calls();
  any = retry(now) || any;
  return start_units(now) || any;
}

bool Keeper::idle() const {
  const bool nothing_new =
      std::equal(parts_.begin(), parts_.end(), taken_.begin(),
                 [](const Part& part, std::uint64_t taken) { return part.committed() == taken; });
  return nothing_new && std::all_of(held_.begin(), held_.end(), [](auto n) { return n == 0; });
}

bool Keeper::waits_for_time() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const FileEntry& entry) { return entry.second.retry_at != 0; });
}

bool Keeper::is_short_of_room() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.wished() > part.granted(); });
}

/// Starts what may go, the file with the oldest entry first.
bool Keeper::start_units(std::int64_t horizon) {
  std::vector<FileEntry*> waiting;
  for (auto& entry : files_)
    if (!entry.second.is_busy() && !entry.second.queue.empty()) waiting.push_back(&entry);
  std::sort(waiting.begin(), waiting.end(), [](const FileEntry* a, const FileEntry* b) {
    return a->second.queue.oldest() < b->second.queue.oldest();
  });
  bool any = false;
  for (auto* const entry : waiting) {
    if (under_way_.size() >= policy_.requests_at_once) break;
    for (const auto& item : entry->second.queue.cut_bytes(horizon))
      finish_items(entry->second, {{item}});
    auto unit = entry->second.queue.next(horizon, is_short_of_room());
    if (unit.empty() || !may_start(unit, *entry)) continue;
    begin(std::move(unit), entry->second);
    any = true;
  }
  return any;
}

/// Nothing is destroyed before what was held earlier is whole, in other files too.
bool Keeper::may_start(const Unit& unit, const FileEntry& entry) const {
  const auto& words = unit.items.back().words;
  if (words.kind != Kind::truncate || disk_.size(words.open) <= words.argument) return true;
  return std::all_of(files_.begin(), files_.end(), [&](const FileEntry& other) {
    return &other == &entry || other.second.queue.empty() ||
           other.second.queue.oldest() > words.stamp;
  });
}

void Keeper::begin(Unit unit, File& file) {
  const auto& words = unit.items.front().words;
  file.request = {words.kind, words.open, words.inode, {}, words.argument};
  std::vector<Share> shares;
  if (words.kind == Kind::write)
    for (const auto& item : unit.items)
      shares.push_back({part_of(item).runs_of(item.words), part_of(item).bytes_of(item.words)});
  file.unit = std::move(unit);
  file.merger = std::make_unique<Merger>(std::move(shares));
  next_request(file);
}

/// The unit's first request, or the next one of a write.
void Keeper::next_request(File& file) {
  if (file.request.kind == Kind::write) {
    file.request.window = file.merger->next();
    if (file.request.window.sources.empty()) return end_unit(file);
  }
  start(file);
}

void Keeper::start(File& file) {
  file.number = ++requests_;
  under_way_.emplace(file.number, &file);
  disk_.start(file.number, file.request);
}

bool Keeper::retry(std::int64_t now) {
  bool any = false;
  for (auto& [inode, file] : files_) {
    if (file.retry_at == 0 || file.retry_at > now) continue;
    file.retry_at = 0;
    start(file);
    any = true;
  }
  return any;
}

void Keeper::finished(std::uint64_t number, int error, std::int64_t now) {
  const auto found = under_way_.find(number);
  if (found == under_way_.end()) return;
  auto& file = *found->second;
  under_way_.erase(found);
  file.number = 0;
  ++counts_.requests;
  if (error == 0) {
    file.failing_since = 0;
    if (file.request.kind != Kind::write) return end_unit(file);
    counts_.bytes_written += file.request.window.bytes();
    return next_request(file);
  }
  const bool full = error == ENOSPC || error == EDQUOT;
  if (file.failing_since == 0) file.failing_since = now;
  if (full && now - file.failing_since < policy_.retry_for_ns) {
    file.retry_at = now + policy_.retry_every_ns;
    return;
  }
  file.failing_since = 0;
  fail_open(file, file.request.open, error);
}

void Keeper::end_unit(File& file) {
  const auto unit = std::exchange(file.unit, {});
  finish_items(file, unit);
  if (file.request.kind == Kind::close) file.queue.forget(file.request.open);
}

/// The entries are in the file. A share says so for good only when its whole call is: otherwise the
/// next keeper could not know that its rank has made it.
void Keeper::finish_items(File& file, const Unit& unit) {
  file.queue.remove(unit);
  for (const auto& item : unit.items) {
    if (item.words.call == 0 || item.words.more != 0)
      tell(item, State::settled);
    else
      tell(item, file.queue.is_whole(item) ? State::whole : State::written);
  }
  tell_over(file.queue.take_over(unit.items.front()));
}

/// Nobody is told for good before all can be told: a keeper that finds one `whole` share knows what
/// the others are.
void Keeper::tell_over(const std::vector<Item>& shares) {
  for (const auto& share : shares) tell(share, State::whole);
  for (const auto& share : shares) tell(share, State::settled);
}

void Keeper::fail_open(File& file, std::uint64_t open, int error) {
  disk_.note_failure(open, error);
  file.queue.opening(open).error = error;
  file.unit = {};
  lose(file.queue.take_open(open), State::failed, error);
}

void Keeper::rank_ended(int rank) { ended_.insert(rank); }

/// Other ranks may go on joining calls that a dead one will never make.
void Keeper::abandon_calls() {
  for (auto& [inode, file] : files_)
    for (const int rank : ended_)
      if (!file.is_busy()) lose(file.queue.abandon(rank), State::dropped, 0);
}

void Keeper::lose(const Leavings& leavings, State state, int error) {
  for (const auto& item : leavings.lost) lose(item, state, error);
  for (const auto& item : leavings.written) tell(item, State::settled);
}

void Keeper::lose(const Item& item, State state, int error) {
  ++(state == State::failed ? counts_.failed : counts_.dropped);
  counts_.bytes_lost += item.words.bytes;
  tell(item, state, error);
}

void Keeper::tell(const Item& item, State state, int error, std::int64_t answer) {
  disk_.step();
  if (is_final(state)) --held_[static_cast<std::size_t>(item.rank)];
  part_of(item).settle(item.words.number, state, error, answer);
  disk_.note_told(item.rank);
}

}  // namespace choir::stage
