#include "engine/plan_cache.hpp"

#include <algorithm>

namespace choir {

bool same_tile(const Tile& a, const Tile& b) {
  return &a == &b || (a.hash() == b.hash() && a.extent() == b.extent() && a.runs() == b.runs());
}

std::size_t PlanEntry::memory_bytes() {
  std::size_t bytes = sizeof *this + ranks.size() * sizeof(RankSummary);
  if (tile) bytes += tile->runs().size() * (sizeof(Run) + sizeof(std::int64_t));
  const std::lock_guard lock(plans_mutex);
  for (const auto& one : plans)
    bytes += sizeof one + one.strategy.size() + one.parameters.size() + one.plan->memory_bytes();
  return bytes;
}

std::shared_ptr<const Plan> PlanEntry::kept(std::string_view strategy,
                                            std::string_view parameters) {
  const std::lock_guard lock(plans_mutex);
  for (const auto& one : plans)
    if (one.strategy == strategy && one.parameters == parameters) return one.plan;
  return nullptr;
}

void PlanEntry::keep(std::string strategy, std::string parameters,
                     std::shared_ptr<const Plan> plan) {
  const std::lock_guard lock(plans_mutex);
  plans.push_back({std::move(strategy), std::move(parameters), std::move(plan)});
}

std::shared_ptr<PlanEntry> PlanCache::find(const Access& access) {
  const std::lock_guard lock(mutex_);
  const auto begin = access.bytes() > 0 ? access.begin % access.file.tile->bytes() : 0;
  const auto fits = [&](const std::shared_ptr<PlanEntry>& entry) {
    if (entry->bytes != access.bytes()) return false;
    if (access.bytes() == 0) return true;
    return entry->begin_in_tile == begin && entry->tile &&
           same_tile(*entry->tile, *access.file.tile);
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), fits);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front();
}

std::shared_ptr<PlanEntry> PlanCache::find(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry->key == key; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front();
}

void PlanCache::insert(const std::shared_ptr<PlanEntry>& entry) {
  const std::lock_guard lock(mutex_);
  entries_.remove_if([&](const auto& old) { return old->key == entry->key; });
  entries_.push_front(entry);
  trim();
}

std::size_t PlanCache::bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& entry : entries_) bytes += entry->memory_bytes();
  return bytes;
}

void PlanCache::trim() {
  std::size_t bytes = 0;
  auto last = entries_.begin();
  for (; last != entries_.end(); ++last) {
    bytes += (*last)->memory_bytes();
    if (bytes > limit_ && last != entries_.begin()) break;
  }
  entries_.erase(last, entries_.end());
}

}  // namespace choir
