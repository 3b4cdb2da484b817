#include "stage/core/client.hpp"

#include <algorithm>
#include <cstring>

namespace choir::stage {
namespace {

/// A piece of a write that finds too little room is not smaller than this: smaller ones cost the
/// keeper more than waiting costs the rank.
constexpr std::int64_t least_piece = 1 << 20;

/// The file side of stream bytes [begin, end), in few words.
Runs runs_of(const Access& access, std::int64_t begin, std::int64_t end) {
  Runs runs;
  visit_runs(access.file, begin, end, [&](const Run& run) { append(runs, run); });
  return runs;
}

std::uint64_t room_for(const Runs& runs, std::int64_t bytes) {
  return runs.size() * sizeof(Run) + static_cast<std::uint64_t>(bytes);
}

}  // namespace

bool Client::is_over(std::uint64_t number) const {
  return part_.slot(number).state.load(std::memory_order_acquire) != State::held;
}

std::uint64_t Client::commit(Words words, std::optional<std::uint64_t> place) {
  words.stamp = clock_.now();
  words.place = place.value_or(0);
  part_.commit(words);
  const auto number = part_.committed();
  held_.push_back({number, words.open, place});
  return number;
}

std::uint64_t Client::say(const OpenFile& file, Kind kind, std::uint64_t call,
                          std::int64_t argument, Extent span) {
  reclaim();
  if (!part_.has_slot()) return 0;
  Words words;
  words.open = file.open;
  words.inode = file.inode;
  words.kind = kind;
  words.call = call;
  words.argument = argument;
  words.span = span;
  return commit(words, std::nullopt);
}

int Client::take_error(std::uint64_t open) {
  reclaim();
  const auto found = errors_.find(open);
  if (found == errors_.end()) return 0;
  const int error = found->second;
  errors_.erase(found);
  return error;
}

void Client::reclaim() {
  std::erase_if(held_, [&](const Held& held) {
    const auto& entry = part_.slot(held.number);
    const auto state = entry.state.load(std::memory_order_acquire);
    if (state == State::held) return false;
    if (state == State::failed) errors_.emplace(held.open, entry.error);
    if (held.place) room_.give_back(*held.place);
    return true;
  });
}

bool Handover::poll() {
  if (done_) return true;
  client_.reclaim();
  const auto grant = std::min(client_.part_.enter(), client_.part_.arena_bytes());
  bool given = true;
  while (!done_ && given) given = give_piece(grant);
  client_.part_.leave();
  return done_;
}

/// The end of the largest piece that fits into `room`, runs included; position_ if none is worth
/// it.
std::int64_t Handover::piece_end(std::uint64_t room) const {
  const auto rest = access_.end - position_;
  auto bytes = std::min<std::int64_t>(rest, static_cast<std::int64_t>(room));
  while (bytes > 0) {
    const auto needed = room_for(runs_of(access_, position_, position_ + bytes), bytes);
    if (needed <= room) break;
    bytes /= 2;
  }
  // With nothing left to wait for, any piece will do.
  if (bytes < rest && bytes < least_piece && !client_.room_.empty()) return position_;
  return position_ + bytes;
}

bool Handover::give_piece(std::uint64_t grant) {
  auto& part = client_.part_;
  if (!part.has_slot()) return false;
  const auto all = runs_of(access_, position_, access_.end);
  auto end = access_.end;
  auto place = client_.room_.take(room_for(all, end - position_), grant);
  if (!place && position_ < access_.end) {
    if (!has_wished_) {  // growing comes before cutting
      const auto bytes = room_for(all, access_.end - position_);
      part.wish(client_.room_.limit_for(bytes));
      has_wished_ = true;
    }
    if (!part.wish_answered()) return false;
    end = piece_end(client_.room_.largest(grant));
    if (end == position_) return false;
    place = client_.room_.take(room_for(runs_of(access_, position_, end), end - position_), grant);
    if (!place) return false;
  }
  const auto runs = end == access_.end ? all : runs_of(access_, position_, end);
  Words words;
  words.open = file_.open;
  words.inode = file_.inode;
  words.call = call_;
  words.kind = Kind::write;
  words.more = end < access_.end ? 1 : 0;
  words.runs = static_cast<std::uint32_t>(runs.size());
  words.bytes = end - position_;
  if (!runs.empty()) words.span = {runs.front().offset, runs.back().end()};
  if (place) {
    char* const to = part.at(*place);
    std::memcpy(to, runs.data(), runs.size() * sizeof(Run));
    copy_packed(Direction::to_window, memory_, position_ - access_.begin, end - access_.begin,
                to + runs.size() * sizeof(Run));
  }
  client_.commit(words, place);
  position_ = end;
  done_ = position_ == access_.end;
  if (done_ && has_wished_) part.wish(0);
  return true;
}

}  // namespace choir::stage
