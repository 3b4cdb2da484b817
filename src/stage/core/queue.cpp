#include "stage/core/queue.hpp"

#include <algorithm>
#include <tuple>

namespace choir::stage {
namespace {

bool is_share(const Item& item) { return item.words.call != 0; }

auto order_of(const Item& item) {
  return std::tuple(item.words.stamp, item.rank, item.words.number);
}

bool comes_before(const Item& a, const Item& b) { return order_of(a) < order_of(b); }

bool changes_bytes(const Item& item) {
  return item.words.kind == Kind::write || item.words.kind == Kind::truncate;
}

}  // namespace

void InodeQueue::add(const Item& item) {
  items_.insert(std::upper_bound(items_.begin(), items_.end(), item, comes_before), item);
  if (!is_share(item)) return;
  auto& call = calls_[name_of(item)];
  call.joined.emplace(item.rank, item.words.stamp);
  if (item.words.more == 0) call.finished.insert(item.rank);
  ++call.shares;
}

void InodeQueue::add_written(const Item& item, bool whole) {
  auto& call = calls_[name_of(item)];
  call.joined.emplace(item.rank, item.words.stamp);
  call.finished.insert(item.rank);
  call.written.push_back(item);
  call.known_whole = call.known_whole || whole;
}

bool InodeQueue::is_whole(const CallName& name) const {
  const auto& call = calls_.at(name);
  const auto opening = openings_.find(name.first);
  return call.known_whole || (opening != openings_.end() && opening->second.expected > 0 &&
                              call.finished.size() == opening->second.expected);
}

bool InodeQueue::still_to_make(const Item& item, const CallName& name) const {
  const auto opening = openings_.find(name.first);
  if (opening == openings_.end() || !opening->second.ranks.contains(item.rank)) return false;
  const auto& joined = calls_.at(name).joined;
  const auto mine = joined.find(item.rank);
  return mine == joined.end() || mine->second > item.words.stamp;
}

bool InodeQueue::may_pass(const Item& item, const std::vector<CallName>& staying) const {
  return std::all_of(staying.begin(), staying.end(), [&](const CallName& name) {
    return (is_share(item) && name == name_of(item)) || still_to_make(item, name);
  });
}

std::vector<std::pair<std::int64_t, InodeQueue::CallName>> InodeQueue::calls_in_order() const {
  std::vector<std::pair<std::int64_t, CallName>> calls;
  for (const auto& [name, call] : calls_) {
    auto first = INT64_MAX;
    for (const auto& [rank, stamp] : call.joined) first = std::min(first, stamp);
    calls.emplace_back(first, name);
  }
  std::sort(calls.begin(), calls.end());
  return calls;
}

/// One look at the items in their order. Whatever stays does so for the sake of a collective call,
/// so those calls are all one has to remember on the way.
Unit InodeQueue::next(std::int64_t horizon, bool short_of_room) const {
  std::vector<CallName> staying;
  std::map<CallName, std::size_t> ready;  // shares that wait for nothing but their call
  const auto calls = calls_in_order();
  auto call = calls.begin();
  for (const auto& item : items_) {
    if (item.words.stamp > horizon) break;
    for (; call != calls.end() && call->first < item.words.stamp; ++call)
      staying.push_back(call->second);
    if (item.words.kind == Kind::fence || item.words.kind == Kind::size) continue;
    const bool passes = may_pass(item, staying);
    if (!is_share(item)) {
      if (passes) return {{item}};
      continue;
    }
    const auto name = name_of(item);
    if (passes && short_of_room && item.words.kind == Kind::write && !is_whole(name))
      return {{item}};
    if (passes && is_whole(name) && ++ready[name] == calls_.at(name).shares) {
      Unit unit;
      std::copy_if(items_.begin(), items_.end(), std::back_inserter(unit.items),
                   [&](const Item& one) { return is_share(one) && name_of(one) == name; });
      return unit;
    }
  }
  return {};
}

void InodeQueue::erase(const Item& item) {
  const auto place = std::lower_bound(items_.begin(), items_.end(), item, comes_before);
  items_.erase(place);
  if (is_share(item)) --calls_.at(name_of(item)).shares;
}

void InodeQueue::remove(const Unit& unit) {
  for (const auto& item : unit.items) {
    erase(item);
    if (is_share(item) && item.words.more == 0) calls_.at(name_of(item)).written.push_back(item);
  }
}

std::vector<Item> InodeQueue::take_over(const Item& share) {
  const auto call = calls_.find(name_of(share));
  if (call == calls_.end() || call->second.shares > 0 || !is_whole(call->first)) return {};
  auto items = std::move(call->second.written);
  calls_.erase(call);
  return items;
}

std::vector<Item> InodeQueue::take_all_over() {
  std::vector<Item> shares;
  for (const auto& [name, call] : calls_)
    if (!call.written.empty()) shares.push_back(call.written.front());
  std::vector<Item> over;
  for (const auto& share : shares)
    for (const auto& item : take_over(share)) over.push_back(item);
  return over;
}

Leavings InodeQueue::abandon(int rank) {
  std::set<CallName> never;
  Leavings leavings;
  for (const auto& [name, call] : calls_) {
    const auto opening = openings_.find(name.first);
    if (call.known_whole || opening == openings_.end() || !opening->second.ranks.contains(rank) ||
        call.finished.contains(rank))
      continue;
    never.insert(name);
    leavings.written.insert(leavings.written.end(), call.written.begin(), call.written.end());
  }
  if (never.empty()) return leavings;
  // What waits for such a call can never go either: the same look as next().
  std::vector<CallName> reached;
  const auto calls = calls_in_order();
  auto call = calls.begin();
  for (const auto& item : items_) {
    for (; call != calls.end() && call->first < item.words.stamp; ++call)
      if (never.contains(call->second)) reached.push_back(call->second);
    if ((is_share(item) && never.contains(name_of(item))) || !may_pass(item, reached))
      leavings.lost.push_back(item);
  }
  for (const auto& item : leavings.lost) erase(item);
  for (const auto& name : never) calls_.erase(name);
  return leavings;
}

Leavings InodeQueue::take_open(std::uint64_t open) {
  Leavings leavings;
  std::copy_if(
      items_.begin(), items_.end(), std::back_inserter(leavings.lost),
      [&](const Item& item) { return item.words.open == open && item.words.kind != Kind::close; });
  for (const auto& item : leavings.lost) erase(item);
  std::erase_if(calls_, [&](auto& entry) {
    auto& [name, call] = entry;
    if (name.first != open || call.shares > 0) return false;
    leavings.written.insert(leavings.written.end(), call.written.begin(), call.written.end());
    return true;
  });
  return leavings;
}

bool InodeQueue::was_made_before(const Item& item, const Item& truncate) const {
  if (!is_share(truncate)) return item.words.stamp < truncate.words.stamp;
  const auto& joined = calls_.at(name_of(truncate)).joined;
  const auto mine = joined.find(item.rank);
  return item.words.stamp < (mine == joined.end() ? truncate.words.stamp : mine->second);
}

std::vector<Item> InodeQueue::cut_bytes(std::int64_t horizon) const {
  const auto goes = [&](const Item& item) { return !is_share(item) || is_whole(name_of(item)); };
  const auto truncate = std::find_if(items_.begin(), items_.end(), [&](const Item& item) {
    return item.words.kind == Kind::truncate && item.words.stamp <= horizon && goes(item);
  });
  std::vector<Item> cut;
  if (truncate == items_.end()) return cut;
  std::copy_if(items_.begin(), items_.end(), std::back_inserter(cut), [&](const Item& item) {
    return item.words.kind == Kind::write && goes(item) &&
           item.words.span.begin >= truncate->words.argument && was_made_before(item, *truncate);
  });
  return cut;
}

bool InodeQueue::holds_back(const Item& fence) const {
  std::vector<CallName> still_to_come;  // calls the fence does not wait for
  const auto calls = calls_in_order();
  auto call = calls.begin();
  for (const auto& item : items_) {
    if (!comes_before(item, fence)) return false;
    for (; call != calls.end() && call->first < item.words.stamp; ++call)
      if (still_to_make(fence, call->second)) still_to_come.push_back(call->second);
    const bool comes_later = is_share(item) && still_to_make(fence, name_of(item));
    if (!comes_later && changes_bytes(item) && may_pass(item, still_to_come) &&
        !intersect(item.words.span, fence.words.span).empty())
      return true;
  }
  return false;
}

std::int64_t InodeQueue::size_after(std::int64_t size, std::int64_t stamp) const {
  for (const auto& item : items_) {
    if (item.words.stamp >= stamp) break;
    if (item.words.kind == Kind::truncate) size = item.words.argument;
    if (item.words.kind == Kind::grow) size = std::max(size, item.words.argument);
    if (item.words.kind == Kind::write && item.words.bytes > 0)
      size = std::max(size, item.words.span.end);
  }
  return size;
}

}  // namespace choir::stage
