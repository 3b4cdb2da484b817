#include "model/numbering.hpp"

#include <algorithm>

namespace choir::model {

Numbering::Numbering(const Plan& plan, std::vector<std::size_t> members)
    : plan_(&plan), members_(std::move(members)) {
  first_.push_back(0);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto& run = domain(i);
    first_.push_back(first_.back() + window_count(run, plan.cycle_bytes));
    ascending_ = ascending_ && run.count == 1 && (i == 0 || domain(i - 1).end() <= run.offset);
    // The very last window always holds the last byte of whoever reaches it, so its size does not
    // matter.
    shortest_ = std::min({shortest_, run.length, plan.cycle_bytes});
    const auto tail = run.length % plan.cycle_bytes;
    if ((i + 1 < members_.size() || run.count > 1) && tail > 0)
      shortest_ = std::min(shortest_, tail);
  }
}

std::size_t Numbering::owner(std::int64_t number) const {
  return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), number) -
                                  first_.begin()) -
         1;
}

Run Numbering::window(std::int64_t number) const {
  const auto i = owner(number);
  return window_of(domain(i), cycle_bytes(), number - first_[i]);
}

Extent Numbering::domains_meeting(Extent range) const {
  const auto begin = std::partition_point(members_.begin(), members_.end(), [&](std::size_t a) {
    return plan_->aggregators[a].domain.end() <= range.begin;
  });
  const auto end = std::partition_point(begin, members_.end(), [&](std::size_t a) {
    return plan_->aggregators[a].domain.offset < range.end;
  });
  return {begin - members_.begin(), end - members_.begin()};
}

void WindowSet::merge() {
  std::sort(ranges_.begin(), ranges_.end(), [](Extent a, Extent b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const auto& range : ranges_) {
    if (kept > 0 && range.begin <= ranges_[kept - 1].end)
      ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, range.end);
    else
      ranges_[kept++] = range;
  }
  ranges_.resize(kept);
}

std::int64_t WindowSet::count(std::span<const Extent> without) const {
  std::int64_t sum = 0;
  for (const auto& range : ranges_) sum += range.size();
  for (const auto& hole : without)
    for (const auto& range : ranges_) sum -= intersect(range, hole).size();
  return sum;
}

}  // namespace choir::model
