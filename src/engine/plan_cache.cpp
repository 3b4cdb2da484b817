#include "engine/plan_cache.hpp"

#include "select/signature.hpp"

namespace choir {
namespace {

/// Where in its tile an access begins.
std::int64_t begin_in_tile(const Access& access) {
  return access.bytes() > 0 ? access.begin % access.file.tile->bytes() : 0;
}

/// Equal for equal patterns of this rank, wherever they lie.
std::uint64_t hash_of(const Tile* tile, std::int64_t begin, std::int64_t bytes) {
  return select::Signature()
      .add(tile != nullptr ? static_cast<std::int64_t>(tile->hash()) : 0)
      .add(begin)
      .add(bytes)
      .value();
}

std::uint64_t hash_of(const PlanEntry& entry) {
  return entry.bytes > 0 ? hash_of(entry.tile.get(), entry.begin_in_tile, entry.bytes)
                         : hash_of(nullptr, 0, 0);
}

std::uint64_t hash_of(const Access& access) {
  return access.bytes() > 0 ? hash_of(access.file.tile.get(), begin_in_tile(access), access.bytes())
                            : hash_of(nullptr, 0, 0);
}

bool same_pattern(const PlanEntry& entry, const Access& access) {
  if (entry.bytes != access.bytes()) return false;
  if (access.bytes() == 0) return true;
  return entry.begin_in_tile == begin_in_tile(access) && entry.tile &&
         same_tile(*entry.tile, *access.file.tile);
}

}  // namespace

bool same_tile(const Tile& a, const Tile& b) {
  return &a == &b || (a.hash() == b.hash() && a.extent() == b.extent() && a.runs() == b.runs());
}

bool PlanEntry::Kept::fits(const PlanKey& wanted) const {
  auto parameters = wanted.parameters;
  if (plan->turn < 0) parameters.turn = key.parameters.turn;
  return key.planner == wanted.planner && key.seats == wanted.seats && key.parameters == parameters;
}

std::size_t PlanEntry::memory_bytes() {
  std::size_t bytes = sizeof *this + ranks.size() * sizeof(RankSummary);
  if (tile) bytes += tile->runs().size() * (sizeof(Run) + sizeof(std::int64_t));
  const std::lock_guard lock(plans_mutex);
  for (const auto& one : plans) bytes += sizeof one + one.plan->memory_bytes();
  return bytes;
}

std::shared_ptr<const Plan> PlanEntry::kept(const PlanKey& key) {
  const std::lock_guard lock(plans_mutex);
  for (const auto& one : plans)
    if (one.fits(key)) return one.plan;
  return nullptr;
}

std::shared_ptr<PlanEntry> PlanCache::find(const Access& access) {
  const std::lock_guard lock(mutex_);
  const auto found = by_pattern_.find(hash_of(access));
  if (found == by_pattern_.end()) return nullptr;
  const auto slot = found->second;
  ++looks_;
  if (!same_pattern(*slot->entry, access)) return nullptr;
  slots_.splice(slots_.begin(), slots_, slot);
  return slot->entry;
}

void PlanCache::limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

void PlanCache::insert(const std::shared_ptr<PlanEntry>& entry) {
  const std::lock_guard lock(mutex_);
  const auto pattern = hash_of(*entry);
  if (const auto old = by_pattern_.find(pattern); old != by_pattern_.end()) drop(old->second);
  slots_.push_front({entry, pattern, entry->memory_bytes()});
  by_pattern_[pattern] = slots_.begin();
  bytes_ += slots_.front().bytes;
  ++looks_;
  trim();
}

void PlanCache::keep(PlanEntry& entry, PlanKey key, std::shared_ptr<const Plan> plan) {
  {
    const std::lock_guard lock(entry.plans_mutex);
    entry.plans.push_back({std::move(key), std::move(plan)});
  }
  const std::lock_guard lock(mutex_);
  const auto found = by_pattern_.find(hash_of(entry));
  if (found == by_pattern_.end() || found->second->entry.get() != &entry) return;
  auto& slot = *found->second;
  bytes_ -= slot.bytes;
  slot.bytes = entry.memory_bytes();
  bytes_ += slot.bytes;
  ++looks_;
  trim();
}

std::size_t PlanCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::int64_t PlanCache::looks() const {
  const std::lock_guard lock(mutex_);
  return looks_;
}

void PlanCache::drop(Slots::iterator slot) {
  ++looks_;
  bytes_ -= slot->bytes;
  by_pattern_.erase(slot->pattern);
  slots_.erase(slot);
}

/// The newest stays, whatever its size: a call is using it.
void PlanCache::trim() {
  while (bytes_ > limit_ && slots_.size() > 1) drop(std::prev(slots_.end()));
}

}  // namespace choir
