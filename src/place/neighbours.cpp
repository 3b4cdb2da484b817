#include "place/neighbours.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace choir::place {

namespace {

constexpr std::int64_t far_away = std::numeric_limits<std::int64_t>::max();

struct OwnedRun {
  AccessRun run;
  int rank = 0;
};
using OwnedRuns = std::vector<OwnedRun>;

struct LastPiece {
  std::int64_t offset = -1;
  int rank = 0;
  std::int64_t length = 0;
};

/// Walks runs of one common stride from left to right. At any position each active run has begun
/// exactly one piece within the last period, so a piece's predecessor is the run before it on the
/// circle of offsets modulo the period. That changes only where a run begins or ends: one step per
/// run end.
class PeriodicSweep {
 public:
  PeriodicSweep(const OwnedRuns& runs, std::int64_t period, PairSums& sums, LastPiece& last)
      : runs_(runs), period_(period), sums_(sums), last_(last), before_(runs.size()) {}

  void walk() {
    struct Event {
      std::int64_t at;
      bool begins;
      int run;
    };
    std::vector<Event> events;
    events.reserve(2 * runs_.size());
    for (int i = 0; i < static_cast<int>(runs_.size()); ++i) {
      events.push_back({of(i).offset, true, i});
      events.push_back({of(i).offset + of(i).count * period_, false, i});
    }
    std::sort(events.begin(), events.end(), [](const Event& x, const Event& y) {
      return std::tie(x.at, x.begins, x.run) < std::tie(y.at, y.begins, y.run);
    });
    for (const auto& event : events)
      event.begins ? begin(event.run, event.at) : end(event.run, event.at);
  }

 private:
  struct Before {
    int run = 0;
    std::int64_t since = 0;
  };
  using Circle = std::set<std::pair<std::int64_t, int>>;

  const AccessRun& of(int run) const { return runs_[static_cast<std::size_t>(run)].run; }
  int rank(int run) const { return runs_[static_cast<std::size_t>(run)].rank; }
  int next(Circle::iterator at) const {
    return std::next(at) == circle_.end() ? circle_.begin()->second : std::next(at)->second;
  }
  int previous(Circle::iterator at) const {
    return at == circle_.begin() ? circle_.rbegin()->second : std::prev(at)->second;
  }

  /// Pieces of the run that begin before `at`.
  std::int64_t begun(int run, std::int64_t at) const {
    if (at <= of(run).offset) return 0;
    return std::min(of(run).count, (at - of(run).offset + period_ - 1) / period_);
  }

  void settle(int run, std::int64_t at) {
    auto& before = before_[static_cast<std::size_t>(run)];
    const auto pieces = begun(run, at) - begun(run, before.since);
    sums_.add(rank(before.run), rank(run), pieces,
              pieces * std::min(of(before.run).length, of(run).length));
    before.since = at;
  }

  void begin(int run, std::int64_t at) {
    const auto place = circle_.emplace(at % period_, run).first;
    auto& before = before_[static_cast<std::size_t>(run)];
    if (circle_.size() == 1) {
      if (last_.offset >= 0)
        sums_.add(last_.rank, rank(run), 1, std::min(last_.length, of(run).length));
      before = {run, at + 1};
      return;
    }
    before = {previous(place), at};
    const int after = next(place);
    settle(after, at);
    before_[static_cast<std::size_t>(after)].run = run;
  }

  void end(int run, std::int64_t at) {
    settle(run, at);
    const auto place = circle_.find({at % period_, run});
    const int after = next(place);
    if (after != run) {
      settle(after, at);
      before_[static_cast<std::size_t>(after)].run = previous(place);
    }
    circle_.erase(place);
    if (at - period_ >= last_.offset) last_ = {at - period_, rank(run), of(run).length};
  }

  const OwnedRuns& runs_;
  std::int64_t period_;
  PairSums& sums_;
  LastPiece& last_;
  std::vector<Before> before_;
  Circle circle_;
};

OwnedRuns collect(const GatheredRuns& ranks) {
  OwnedRuns runs;
  runs.reserve(ranks.runs.size());
  for (int rank = 0; rank < ranks.ranks(); ++rank)
    for (const auto& run : ranks.of(rank))
      if (run.length > 0 && run.count > 0) runs.push_back({normalised(run), rank});
  std::sort(runs.begin(), runs.end(), [](const OwnedRun& x, const OwnedRun& y) {
    return std::tie(x.run.offset, x.rank) < std::tie(y.run.offset, y.rank);
  });
  return runs;
}

/// The least common multiple of the strides of runs of several blocks; nothing if it is out of
/// reach.
std::optional<std::int64_t> common_period(const OwnedRuns& runs) {
  std::int64_t period = 1;
  for (const auto& [run, rank] : runs) {
    if (run.count == 1 || period % run.stride == 0) continue;
    const auto factor = run.stride / std::gcd(period, run.stride);
    if (factor > (std::int64_t{1} << 40) / period) {
      if (period > 1) return std::nullopt;  // a single huge stride is still a period
      if (factor > far_away / 4) return std::nullopt;
    }
    period *= factor;
  }
  return period;
}

std::int64_t pieces_per_period(const AccessRun& run, std::int64_t period) {
  return run.count == 1 ? 1 : std::min(run.count, period / run.stride);
}

/// The same pieces as runs of stride `period`.
OwnedRuns spread(const OwnedRuns& runs, std::int64_t period) {
  OwnedRuns result;
  for (const auto& [run, rank] : runs) {
    const auto parts = pieces_per_period(run, period);
    for (std::int64_t part = 0; part < parts; ++part) {
      const auto count = (run.count - part + parts - 1) / parts;
      result.push_back({{run.offset + part * run.stride, run.length, period, count}, rank});
    }
  }
  return result;
}

OwnedRuns single_pieces(const OwnedRuns& runs) {
  OwnedRuns result;
  for (const auto& [run, rank] : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      result.push_back({{run.offset + i * run.stride, run.length, run.length, 1}, rank});
  return result;
}

std::int64_t piece_count(const OwnedRuns& runs) {
  std::int64_t pieces = 0;
  for (const auto& [run, rank] : runs) pieces += run.count;
  return pieces;
}

/// The pieces that begin in [begin, end), as runs.
OwnedRuns clip(const OwnedRuns& runs, std::int64_t begin, std::int64_t end) {
  OwnedRuns result;
  for (const auto& owned : runs) {
    const auto& run = owned.run;
    const auto stride = std::max<std::int64_t>(1, run.stride);
    const auto begun = [&](std::int64_t at) {
      return at <= run.offset ? 0 : std::min(run.count, (at - run.offset + stride - 1) / stride);
    };
    const auto skipped = begun(begin);
    const auto count = begun(end) - skipped;
    if (count > 0)
      result.push_back({{run.offset + skipped * stride, run.length, stride, count}, owned.rank});
  }
  return result;
}

/// Counts windows spread over the cluster and scales what they show to all pieces.
void estimate(const OwnedRuns& runs, std::int64_t end, PairSums& sums, LastPiece& last) {
  constexpr int windows = 16;
  const auto begin = runs.front().run.offset;
  const auto total = piece_count(runs);
  const auto budget = static_cast<std::int64_t>(runs.size()) * 2 + 256;
  const auto step = std::max<std::int64_t>(1, (end - begin) / windows);
  PairSums seen;
  std::int64_t counted = 0;
  for (int i = 0; i < windows; ++i) {
    auto width = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(step) * windows *
                                     static_cast<double>(budget) / static_cast<double>(total)));
    width = std::min(width, step);
    auto part = clip(runs, begin + i * step, begin + i * step + width);
    while (piece_count(part) > 4 * budget && width > 1)
      part = clip(runs, begin + i * step, begin + i * step + (width /= 2));
    counted += piece_count(part);
    LastPiece none;
    PeriodicSweep(single_pieces(part), 1, seen, none).walk();
  }
  const double scale =
      static_cast<double>(total) / static_cast<double>(std::max<std::int64_t>(1, counted));
  for (const auto& pair : seen.sorted())
    sums.add(pair.a, pair.b, static_cast<std::int64_t>(static_cast<double>(pair.contacts) * scale),
             static_cast<std::int64_t>(static_cast<double>(pair.bytes) * scale));
  for (const auto& [run, rank] : runs) {
    const auto offset = run.offset + (run.count - 1) * run.stride;
    if (offset >= last.offset) last = {offset, rank, run.length};
  }
}

bool count_cluster(const OwnedRuns& runs, std::int64_t end, PairSums& sums, LastPiece& last) {
  const auto size = static_cast<std::int64_t>(runs.size());
  if (const auto period = common_period(runs)) {
    std::int64_t parts = 0;
    for (const auto& [run, rank] : runs) parts += pieces_per_period(run, *period);
    if (parts <= 8 * size + 1024) {
      PeriodicSweep(spread(runs, *period), *period, sums, last).walk();
      return true;
    }
  }
  if (piece_count(runs) <= 64 * size + 4096) {
    PeriodicSweep(single_pieces(runs), 1, sums, last).walk();
    return true;
  }
  estimate(runs, end, sums, last);
  return false;
}

/// Past this position a run has no say in who precedes whom.
std::int64_t reach(const AccessRun& run) {
  return run.count == 1 ? run.offset + run.length : run.offset + run.count * run.stride;
}

}  // namespace

AccessRun normalised(AccessRun run) {
  if (run.count > 1 && run.stride < 0) {
    run.offset += run.stride * (run.count - 1);
    run.stride = -run.stride;
  }
  if (run.stride == 0 || run.count == 1) return {run.offset, run.length, run.length, 1};
  if (run.stride <= run.length)
    return {run.offset, end_of(run) - run.offset, end_of(run) - run.offset, 1};
  return run;
}

bool count_neighbours(const GatheredRuns& ranks, PairSums& sums) {
  const auto runs = collect(ranks);
  LastPiece last;
  bool exact = true;
  for (std::size_t first = 0; first < runs.size();) {
    auto end = reach(runs[first].run);
    std::size_t past = first + 1;
    for (; past < runs.size() && runs[past].run.offset < end; ++past)
      end = std::max(end, reach(runs[past].run));
    const OwnedRuns cluster(runs.begin() + static_cast<std::ptrdiff_t>(first),
                            runs.begin() + static_cast<std::ptrdiff_t>(past));
    exact = count_cluster(cluster, end, sums, last) && exact;
    first = past;
  }
  return exact;
}

}  // namespace choir::place
