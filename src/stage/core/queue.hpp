// queue.hpp: what is held for one file, and what of it may go there next.
//
// Entries are kept in the order of their stamps, which is the order in which the program made them
// where the program can tell. One rule decides:
//
//   An entry waits for every earlier one of its file, except for those that wait for a collective
//   call its own rank has still to make.
//
// and a share of a collective call goes when the call is whole: when all its ranks have made it. So
// overlapping writes reach the file in the program's order, and what a rank writes by itself after
// a collective call follows the whole call: a header never promises records that are not there.
// Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "stage/core/entry.hpp"

namespace choir::stage {

/// An entry the keeper has taken note of. Its words are a copy: later stores by the rank change
/// nothing here.
struct Item {
  Words words;
  int rank = 0;
};

/// What a file's ranks have said of one open of it.
struct Opening {
  std::uint64_t expected = 0;  ///< ranks that take part
  std::set<int> ranks;
  int error = 0;  ///< errno: nothing of this open is written any more
};

/// One collective call, as far as its ranks have made it.
struct CollectiveCall {
  std::map<int, std::int64_t> joined;  ///< rank: stamp of its first share
  std::set<int> finished;              ///< ranks whose last share is here
  std::size_t shares = 0;              ///< in the queue
  std::vector<Item> written;           ///< shares that are over, but not told so
  bool known_whole = false;            ///< an earlier keeper saw it whole
};

/// What will never be written, and what was written of its calls.
struct Leavings {
  std::vector<Item> lost;
  std::vector<Item> written;
};

/// What goes next: one entry, or all shares of a collective call.
struct Unit {
  std::vector<Item> items;
  bool empty() const { return items.empty(); }
};

class InodeQueue {
 public:
  using CallName = std::pair<std::uint64_t, std::uint64_t>;  // open, call

  void add(const Item& item);
  /// A share that an earlier keeper left `written` or `whole`.
  void add_written(const Item& item, bool whole);
  /// What may go next, of entries with stamps up to `horizon`: those whose predecessors are all
  /// known. `short_of_room`: shares of a call that is not whole may go, too.
  Unit next(std::int64_t horizon, bool short_of_room) const;
  /// The unit's entries have gone. Its shares are remembered until their call is over.
  void remove(const Unit& unit);
  /// If the call is whole and nothing of it is left: all its shares; the call is forgotten.
  std::vector<Item> take_over(const Item& share);
  /// The same for all calls that an earlier keeper left so.
  std::vector<Item> take_all_over();
  /// Takes out what can never go, since `rank` will make no more calls.
  Leavings abandon(int rank);
  /// Takes out everything of an open but its closes.
  Leavings take_open(std::uint64_t open);
  /// Held writes, or shares of whole calls, whose bytes a truncation that may go will cut.
  std::vector<Item> cut_bytes(std::int64_t horizon) const;

  bool empty() const { return items_.empty(); }
  const std::deque<Item>& items() const { return items_; }
  /// Whether the fence has to wait for an earlier entry in its span.
  bool holds_back(const Item& fence) const;
  /// The end of the file as the entries before `stamp` leave it, if it ends at `size` now.
  std::int64_t size_after(std::int64_t size, std::int64_t stamp) const;
  std::int64_t oldest() const { return items_.front().words.stamp; }

  Opening& opening(std::uint64_t open) { return openings_[open]; }
  bool knows(std::uint64_t open) const { return openings_.contains(open); }
  bool has_openings() const { return !openings_.empty(); }
  void forget(std::uint64_t open) { openings_.erase(open); }
  bool is_whole(const Item& share) const { return is_whole(name_of(share)); }

 private:
  CallName name_of(const Item& item) const { return {item.words.open, item.words.call}; }
  void erase(const Item& item);
  bool is_whole(const CallName& name) const;
  /// Calls that are not over, by when the first rank made each.
  std::vector<std::pair<std::int64_t, CallName>> calls_in_order() const;
  /// Whether the rank of `item` still had to make the call when it committed the item.
  bool still_to_make(const Item& item, const CallName& name) const;
  bool was_made_before(const Item& item, const Item& truncate) const;
  bool may_pass(const Item& item, const std::vector<CallName>& staying) const;

  std::deque<Item> items_;  // by stamp, rank, number
  std::map<CallName, CollectiveCall> calls_;
  std::map<std::uint64_t, Opening> openings_;
};

}  // namespace choir::stage
