// numbering.hpp: the windows of a group's aggregators under one numbering, and which of them a rank
// meets.
//
// Aggregator i has the numbers [windows(i).begin, windows(i).end). Ranges of numbers are found by
// arithmetic, so a rank with a million blocks between two windows costs no more than one with two.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/overlap.hpp"

namespace choir::model {

class Numbering {
 public:
  Numbering(const Plan& plan, std::vector<std::size_t> members);

  std::size_t size() const { return members_.size(); }
  const Run& domain(std::size_t i) const { return plan_->aggregators[members_[i]].domain; }
  int rank(std::size_t i) const { return plan_->aggregators[members_[i]].rank; }
  Extent windows(std::size_t i) const { return {first_[i], first_[i + 1]}; }
  std::int64_t cycle_bytes() const { return plan_->cycle_bytes; }
  /// The aggregator a window number belongs to, and the window.
  std::size_t owner(std::int64_t number) const;
  Run window(std::int64_t number) const;
  /// One range of the file after the other: the numbering ascends with the file.
  bool ascending() const { return ascending_; }
  /// A gap of this many bytes cannot swallow a window.
  bool bridges(std::int64_t gap) const { return gap < shortest_; }

  /// Visits the windows that hold bytes of `range`, as ranges of numbers.
  template <class Visit>
  void holding(Extent range, Visit&& visit) const;

  /// Visits the windows that a rank contributes to (plan/plan.hpp: next_window), as ranges of
  /// numbers, ascending within an aggregator. Returns the steps it took.
  template <class Visit>
  std::int64_t contributed(const RankSummary& rank, Visit&& visit) const;

  /// Visits the windows that hold bytes of `access`; ranges may repeat. Returns the steps.
  template <class Visit>
  std::int64_t holding_bytes(const Access& access, Visit&& visit) const;

 private:
  /// The domains [first, last) that meet a range; only of ascending numberings.
  Extent domains_meeting(Extent range) const;
  template <class Visit>
  std::int64_t contributed_ascending(const RankSummary& rank, Visit&& visit) const;

  const Plan* plan_;
  std::vector<std::size_t> members_;
  std::vector<std::int64_t> first_;
  std::int64_t shortest_ = INT64_MAX;
  bool ascending_ = true;
};

/// Sorted, merged ranges of window numbers.
class WindowSet {
 public:
  void add(Extent range) { ranges_.push_back(range); }
  std::size_t size() const { return ranges_.size(); }
  const std::vector<Extent>& ranges() const { return ranges_; }
  void merge();
  /// Windows of the set outside the `without` ranges; the set is merged.
  std::int64_t count(std::span<const Extent> without) const;

 private:
  std::vector<Extent> ranges_;
};

template <class Visit>
void Numbering::holding(Extent range, Visit&& visit) const {
  if (range.empty() || members_.empty()) return;
  if (ascending_) {
    // Domains may have gaps between them but windows do not: one range of numbers, first to last.
    const auto met = domains_meeting(range);
    if (met.empty()) return;
    const auto i = static_cast<std::size_t>(met.begin),
               last = static_cast<std::size_t>(met.end) - 1;
    const auto begin = first_[i] + windows_ended(domain(i), cycle_bytes(), range.begin);
    const auto end = first_[last] + windows_begun(domain(last), cycle_bytes(), range.end);
    if (begin < end) visit(Extent{begin, end});
    return;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const auto met = windows_holding(domain(i), cycle_bytes(), range);
    if (!met.empty()) visit(Extent{first_[i] + met.begin, first_[i] + met.end});
  }
}

template <class Visit>
std::int64_t Numbering::contributed(const RankSummary& rank, Visit&& visit) const {
  if (rank.empty() || members_.empty()) return 1;
  const auto& shape = rank.shape;
  const bool dense = shape.kind == Shape::Kind::span || (shape.kind == Shape::Kind::periodic &&
                                                         bridges(shape.stride() - shape.length()));
  if (dense) {
    holding(rank.span(), visit);
    return ascending_ ? 1 : static_cast<std::int64_t>(size());
  }
  if (ascending_) return contributed_ascending(rank, visit);
  std::int64_t steps = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    auto w = next_window(domain(i), cycle_bytes(), rank, 0);
    for (++steps; w >= 0; ++steps) {
      visit(Extent{first_[i] + w, first_[i] + w + 1});
      w = next_window(domain(i), cycle_bytes(), rank, w + 1);
    }
  }
  return steps;
}

template <class Visit>
std::int64_t Numbering::contributed_ascending(const RankSummary& rank, Visit&& visit) const {
  std::int64_t steps = 0, seen = 0;
  for (auto from = rank.low;; ++steps) {
    const auto stretch = next_stretch(rank.shape, rank.span(), from);
    if (stretch.empty()) return steps;
    from = stretch.end;
    holding(stretch, [&](Extent met) {
      met.begin = std::max(met.begin, seen);
      if (!met.empty()) visit(met);
      seen = met.end;
      from = std::max(from, window(met.end - 1).end());  // more blocks there change nothing
    });
  }
}

template <class Visit>
std::int64_t Numbering::holding_bytes(const Access& access, Visit&& visit) const {
  std::int64_t steps = 0;
  const auto each = ascending_ ? 1 : static_cast<std::int64_t>(size());
  visit_runs(access.file, access.begin, access.end, [&](const Run& run) {
    if (run.count == 1 || bridges(run.stride - run.length)) {
      steps += each;
      holding({run.offset, run.end()}, visit);
      return;
    }
    steps += run.count * each;
    for (std::int64_t i = 0; i < run.count; ++i)
      holding({run.block(i), run.block(i) + run.length}, visit);
  });
  return steps;
}

}  // namespace choir::model
