// keeper.hpp: what the keeper does, as a state machine that is polled.
//
// It looks at the parts, brings what is held into order, one queue for each file, hands requests to
// a disk, and says in the hold what became of each entry. Everything it knows it can find out again
// from the hold and from who holds the descriptors: it may be killed at any step and another one
// goes on, carrying out again what was not over. For that, the entries of one file are over in the
// order in which they were written. Pure: time, disk and memory's limits come from outside.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "stage/core/grants.hpp"
#include "stage/core/merge.hpp"
#include "stage/core/part.hpp"
#include "stage/core/queue.hpp"

namespace choir::stage {

/// One thing for the disk to do.
struct Request {
  Kind kind = Kind::write;  ///< write, grow, truncate, sync or close
  std::uint64_t open = 0;
  Inode inode;
  Window window;              ///< of a write; its bytes lie in the hold until the request is over
  std::int64_t argument = 0;  ///< a size
};

/// The keeper's surroundings: who carries out requests.
class Disk {
 public:
  virtual ~Disk() = default;
  /// Starts a request; Keeper::finished() is told how it went, later.
  virtual void start(std::uint64_t number, const Request& request) = 0;
  /// The file's size as it is now.
  virtual std::int64_t size(std::uint64_t open) = 0;
  /// Nothing of this open will be written any more. To be said again to the next keeper.
  virtual void note_failure(std::uint64_t open, int error) = 0;
  /// Something was told to a rank that may be waiting for it.
  virtual void note_told(int) {}
  /// Between two steps of the protocol, where a crash must lose nothing; tests end the keeper here.
  virtual void step() {}
};

struct KeeperPolicy {
  std::size_t requests_at_once = 2;            ///< one is written while the next one begins
  std::int64_t retry_every_ns = 100'000'000;   ///< a full disk is asked again so often ...
  std::int64_t retry_for_ns = 30'000'000'000;  ///< ... for so long
};

struct KeeperCounts {
  std::uint64_t entries = 0, requests = 0, failed = 0, dropped = 0, damaged = 0;
  std::int64_t bytes_written = 0, bytes_lost = 0;
};

class Keeper {
 public:
  Keeper(std::vector<Part> parts, Disk& disk, Grants grants, KeeperPolicy policy = {});

  /// A rank takes part in an open of a file by `expected` ranks. To be said before any of its
  /// entries can come, and again to the next keeper, with the error that note_failure() told.
  void opened(std::uint64_t open, Inode inode, int rank, std::uint64_t expected, int error = 0);
  /// Looks at everything once. `now` was read before from the clock that stamps entries. True if
  /// anything went on.
  bool poll(std::int64_t now);
  /// How a request ended: an errno, 0 if well.
  void finished(std::uint64_t number, int error, std::int64_t now);
  /// A rank's process is gone: it will make no more calls.
  void rank_ended(int rank);

  /// Nothing is held and nothing is under way.
  bool idle() const;
  /// Whether time alone makes poll() go on: a full disk is to be asked again.
  bool waits_for_time() const;
  const KeeperCounts& counts() const { return counts_; }

 private:
  struct File {
    InodeQueue queue;
    Unit unit;                       // on its way to the disk
    std::unique_ptr<Merger> merger;  // of a unit of writes
    Request request;
    std::uint64_t number = 0;  // of the request that is under way; 0: none
    std::int64_t failing_since = 0;
    std::int64_t retry_at = 0;
    bool is_busy() const { return !unit.empty(); }
  };
  using FileEntry = std::pair<const Inode, File>;

  // Entries in (keeper_entries.cpp).
  bool take_entries(std::size_t part);
  void finish_what_was_begun();
  void take(std::size_t part, const Words& words, State state);
  bool answer_questions(std::int64_t horizon);

  // Requests out (keeper.cpp).
  bool start_units(std::int64_t horizon);
  bool may_start(const Unit& unit, const FileEntry& entry) const;
  void begin(Unit unit, File& file);
  void next_request(File& file);
  void start(File& file);
  bool retry(std::int64_t now);
  void end_unit(File& file);
  void fail_open(File& file, std::uint64_t open, int error);
  void abandon_calls();
  void lose(const Leavings& leavings, State state, int error);
  void finish_items(File& file, const Unit& unit);
  void tell_over(const std::vector<Item>& shares);
  void tell(const Item& item, State state, int error = 0, std::int64_t answer = 0);
  void lose(const Item& item, State state, int error);
  bool is_short_of_room() const;
  Part& part_of(const Item& item) { return parts_[static_cast<std::size_t>(item.rank)]; }

  std::vector<Part> parts_;  // by rank
  Disk& disk_;
  Grants grants_;
  KeeperPolicy policy_;
  std::vector<std::uint64_t> taken_;  // by part: entries up to this number were looked at
  std::vector<std::uint64_t> held_;   // by part: entries that are not final
  std::set<int> ended_;               // ranks
  bool has_begun_ = false;
  std::map<Inode, File> files_;
  std::map<std::uint64_t, File*> under_way_;  // requests
  std::uint64_t requests_ = 0;
  KeeperCounts counts_;
};

}  // namespace choir::stage
