// plan_cache.hpp: plans of earlier calls, found again by their relative pattern.
//
// A checkpoint loop moves the file position only, and a new checkpoint file has the old one's
// shape: both find the plan of the call before. An entry is used only if every rank's own pattern
// compares equal in full and all ranks name the same entry, made at the same place, and the same
// shift. Of entries with the same own pattern the latest is kept: no other would be found. Bounded
// in bytes; the least recently used entry goes first. A call costs the same however many there are.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "access/layout.hpp"
#include "engine/arena.hpp"
#include "plan/strategy.hpp"
#include "select/class_key.hpp"

namespace choir {

/// What a plan follows from, besides the pattern. Compared by value: names may mean something else
/// in another file, or after MPI_File_set_info.
struct PlanKey {
  Planner planner;
  Parameters parameters;
  int seats = 0;
};

/// One agreed pattern of all ranks and the plans made for it.
struct PlanEntry {
  /// Hash of all ranks' ballots relative to the lowest offset, and of that offset. Where calls on
  /// several files are under way, ranks may have seen a pattern first at different places: then
  /// neither their shifts nor what was derived from the place can be compared.
  std::uint64_t name = 0;
  // This rank's own pattern, for the full comparison.
  TilePtr tile;
  std::int64_t begin_in_tile = 0;
  std::int64_t bytes = 0;
  std::int64_t low = 0;
  // Everyone's.
  std::vector<RankSummary> ranks;
  std::int64_t total_bytes = 0;  ///< of all ranks; kept, since a job may have very many
  Extent span;                   ///< of all ranks; empty if nobody asks
  Extent span_at(std::int64_t shift) const {
    return span.empty() ? span : Extent{span.begin + shift, span.end + shift};
  }
  bool dense = false;  ///< certainly no byte of the span is left out
  std::int64_t pieces = 0;
  select::ClassKey shape;  ///< of its calls, but for operation and ground
  std::int64_t grain = 1;
  std::mutex
      plans_mutex;  ///< files of one communicator share entries, and threads may advance them
  struct Kept {
    PlanKey key;
    std::shared_ptr<const Plan> plan;

    bool fits(const PlanKey& wanted) const;
  };
  std::vector<Kept> plans;
  /// Calls in which this rank moved its bytes before the others turned out to ask otherwise.
  std::atomic<int> vain_runs_ahead{0};

  /// One more rank that asks for something.
  void add(const RankSummary& rank, std::int64_t rank_grain) {
    span = total_bytes == 0 ? rank.span()
                            : Extent{std::min(span.begin, rank.low), std::max(span.end, rank.high)};
    total_bytes += rank.bytes;
    grain = std::min(grain, rank_grain);
  }
  /// The plan made for an equal key; null if none was made yet. Many plans are the same whatever
  /// the file's turn.
  std::shared_ptr<const Plan> kept(const PlanKey& key);
  std::size_t memory_bytes();
};

class PlanCache {
 public:
  void limit(std::size_t bytes);
  /// An entry whose pattern for this rank equals `access`, or null. The returned entry stays valid.
  std::shared_ptr<PlanEntry> find(const Access& access);
  void insert(const std::shared_ptr<PlanEntry>& entry);
  /// One more plan of an entry, which may be in the cache no longer.
  void keep(PlanEntry& entry, PlanKey key, std::shared_ptr<const Plan> plan);

  std::atomic<std::int64_t> hits{0};
  std::atomic<std::int64_t> misses{0};
  std::size_t bytes() const;
  /// Entries looked at so far, for whatever reason.
  std::int64_t looks() const;

 private:
  struct Slot {
    std::shared_ptr<PlanEntry> entry;
    std::uint64_t pattern = 0;  ///< hash of this rank's own
    std::size_t bytes = 0;      ///< counted for it
  };
  using Slots = std::list<Slot>;

  void drop(Slots::iterator slot);
  void trim();

  mutable std::mutex mutex_;
  Slots slots_;  ///< most recently used first
  std::unordered_map<std::uint64_t, Slots::iterator> by_pattern_;
  std::size_t bytes_ = 0;
  std::size_t limit_ = std::size_t{16} << 20;
  std::int64_t looks_ = 0;
};

bool same_tile(const Tile& a, const Tile& b);

}  // namespace choir
