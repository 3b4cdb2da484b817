#include "evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "common/paired.hpp"

namespace choir::rounds {
namespace {

using tools::geometric_mean;
using tools::median;

/// From this file on a file counts as late: what was to be learnt from files of one call is learnt.
constexpr int kFourth = 3;

using Place = std::tuple<std::string, int, std::string, std::string, bool>;  // a row

Place place_of(const Time& time) {
  return {time.launch.mpi, time.launch.ranks, time.launch.pattern, time.mode,
          time.launch.mode == "joint"};
}

/// The sum over the files of one launch.
struct Sum {
  double open_s = 0, calls_s = 0, sync_s = 0, close_s = 0, total_s = 0;
  std::map<int, double> files;  // total by file

  void add(const Time& time) {
    open_s += time.open_s;
    calls_s += time.calls_s;
    sync_s += time.sync_s;
    close_s += time.close_s;
    total_s += time.total_s();
    files[time.file] += time.total_s();
  }
};

struct Key {
  int round, run;
  std::string contender;
  auto operator<=>(const Key&) const = default;
};
using Sums = std::map<Key, Sum>;

bool is_even(int round) { return round % 2 == 0; }

std::string most_frequent(const std::vector<std::string>& names) {
  std::map<std::string, int> counts;
  for (const auto& name : names) ++counts[name];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

Figures figures_of(const std::vector<const Sum*>& sums, const std::vector<std::string>& served) {
  const auto middle = [&](double Sum::*part) {
    std::vector<double> values;
    for (const auto* sum : sums) values.push_back(sum->*part);
    return median(values);
  };
  return {middle(&Sum::open_s),  middle(&Sum::calls_s), middle(&Sum::sync_s), middle(&Sum::close_s),
          middle(&Sum::total_s), sums.size(),           most_frequent(served)};
}

/// Times of the contenders that choose nothing, by name, in odd or even rounds.
std::map<std::string, std::vector<double>> fixed_totals(const Sums& sums, bool even) {
  std::map<std::string, std::vector<double>> totals;
  for (const auto& [key, sum] : sums)
    if (key.run == 0 && is_even(key.round) == even) totals[key.contender].push_back(sum.total_s);
  return totals;
}

std::string best_of(const Sums& sums) {
  std::string best;
  double least = 0;
  for (const auto& [name, totals] : fixed_totals(sums, false)) {
    const double middle = median(totals);
    if (best.empty() || middle < least) best = name, least = middle;
  }
  return best;
}

/// What `best` took in the launch of `key` or, if it was not in it, in the same round.
const Sum* reference(const Sums& sums, const Key& key, const std::string& best) {
  for (const int run : {key.run, 0})
    if (const auto found = sums.find({key.round, run, best}); found != sums.end())
      return &found->second;
  return nullptr;
}

double file_of(const Sum& sum, int file) {
  const auto found = sum.files.find(file);
  return found == sum.files.end() ? 0 : found->second;
}

void add_ratio(std::vector<double>& ratios, double above, double below) {
  if (above > 0 && below > 0) ratios.push_back(above / below);
}

/// Ratios of one run of auto over the even rounds.
void compare_run(Row& row, const Sums& own, const Sums& fixed, int run) {
  std::vector<double> best, native, fourth;
  for (const auto& [key, sum] : own) {
    if (key.run != run || key.contender != "auto") continue;
    const Key place{key.round, run, "auto"};
    if (const auto found = own.find({key.round, run, "host"}); found != own.end())
      add_ratio(native, sum.total_s, found->second.total_s);
    const auto found = own.find({key.round, run, row.best});
    const Sum* other = found != own.end() ? &found->second : reference(fixed, place, row.best);
    if (other == nullptr) continue;
    add_ratio(best, sum.total_s, other->total_s);
    add_ratio(fourth, file_of(sum, kFourth), file_of(*other, kFourth));
  }
  if (!best.empty()) row.against_best[run] = geometric_mean(best);
  if (!native.empty()) row.against_native[run] = geometric_mean(native);
  if (run == 1 && row.mode == "files") row.fourth_file = geometric_mean(fourth);
}

/// Of large files: what native takes to what auto takes, from the fourth file on, in all runs.
void compare_late_files(Row& row, const Sums& own) {
  std::vector<double> shares;
  double native_s = 0, auto_s = 0;
  for (const auto& [key, sum] : own) {
    if (key.contender != "auto") continue;
    const auto host = own.find({key.round, key.run, "host"});
    if (host == own.end()) continue;
    for (const auto& [file, total] : sum.files) {
      if (file < kFourth) continue;
      const double native = file_of(host->second, file);
      add_ratio(shares, native, total);
      native_s += native;
      auto_s += total;
    }
  }
  row.late_files_median = median(shares);
  row.late_files_mean = auto_s > 0 ? native_s / auto_s : 0;
}

struct Collected {
  Sums sums;
  std::map<std::pair<std::string, int>, std::vector<std::string>> served;  // contender, run
};

/// Figures by contender or run.
Figures figures_of(const Collected& from, const std::string& contender, int run, bool even_only) {
  std::vector<const Sum*> sums;
  for (const auto& [key, sum] : from.sums)
    if (key.contender == contender && key.run == run && (!even_only || is_even(key.round)))
      sums.push_back(&sum);
  const auto served = from.served.find({contender, run});
  return figures_of(sums,
                    served == from.served.end() ? std::vector<std::string>{} : served->second);
}

Target::Outcome outcome(bool met) { return met ? Target::Outcome::met : Target::Outcome::missed; }

Target not_measured(const std::string& what, const std::string& wanted) {
  return {what, wanted, "not measured", Target::Outcome::not_measured};
}

/// Every value at most `limit`, but for one of 20.
std::size_t within(const std::vector<double>& values, double limit) {
  return static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [&](double v) { return v <= limit; }));
}

Target fourth_run(const std::vector<Row>& rows) {
  const std::string what = "fourth run of `auto` against the best contender";
  const std::string wanted = "geometric mean at most 1.05; 19 rows of 20 at most 1.12";
  std::vector<double> ratios;
  for (const auto& row : rows)
    if (const auto found = row.against_best.find(kRuns); found != row.against_best.end())
      ratios.push_back(found->second);
  if (ratios.empty()) return not_measured(what, wanted);
  const double mean = geometric_mean(ratios);
  const auto good = within(ratios, 1.12);
  return {what, wanted,
          fmt::format("{:.2f}; {} rows of {}, the worst {:.2f}", mean, good, ratios.size(),
                      *std::max_element(ratios.begin(), ratios.end())),
          outcome(mean <= 1.05 && 20 * good >= 19 * ratios.size())};
}

Target fourth_file(const std::vector<Row>& rows, bool machine_measured) {
  const double limit = machine_measured ? 1.10 : 1.20;
  const std::string what = "fourth file of one step each, nothing known, against the best";
  const auto wanted = fmt::format("every row at most {:.2f} (the machine was {}measured)", limit,
                                  machine_measured ? "" : "not ");
  std::vector<double> ratios;
  for (const auto& row : rows)
    if (row.fourth_file > 0 && !row.joint) ratios.push_back(row.fourth_file);
  if (ratios.empty()) return not_measured(what, wanted);
  const auto good = within(ratios, limit);
  return {what, wanted,
          fmt::format("{} rows of {}, mean {:.2f}, the worst {:.2f}", good, ratios.size(),
                      geometric_mean(ratios), *std::max_element(ratios.begin(), ratios.end())),
          outcome(good == ratios.size())};
}

Target nothing_known(const std::vector<Row>& rows, const std::string& mode, double limit) {
  const auto what = fmt::format("nothing known, against native, mode {}", mode);
  const auto wanted = fmt::format("16 ranks: geometric mean at most {:.2f}", limit);
  std::vector<double> ratios;
  for (const auto& row : rows)
    if (row.mode == mode && !row.joint)
      if (const auto found = row.against_native.find(1); found != row.against_native.end())
        ratios.push_back(found->second);
  if (ratios.empty()) return not_measured(what, wanted);
  const double mean = geometric_mean(ratios);
  return {what, wanted, fmt::format("{:.2f}", mean), outcome(mean <= limit)};
}

Target no_row_above(const std::vector<Row>& rows) {
  const std::string what = "nothing known, against native, every row";
  const std::string wanted = "16 ranks: no row above 1.15";
  std::vector<double> ratios;
  for (const auto& row : rows)
    if (const auto found = row.against_native.find(1);
        found != row.against_native.end() && !row.joint)
      ratios.push_back(found->second);
  if (ratios.empty()) return not_measured(what, wanted);
  const auto good = within(ratios, 1.15);
  return {what, wanted,
          fmt::format("{} of {} rows above, the worst {:.2f}", ratios.size() - good, ratios.size(),
                      *std::max_element(ratios.begin(), ratios.end())),
          outcome(good == ratios.size())};
}

Target large_files(const std::vector<Row>& rows) {
  const std::string what = "64 MiB and more, native best, from the fourth file on, of native";
  const std::string wanted = "at least 0.97 without looks (median file), 0.95 with (all files)";
  double least_median = 0, least_mean = 0;
  std::size_t count = 0;
  for (const auto& row : rows) {
    const auto* pattern = find_pattern(row.pattern);
    if (pattern == nullptr || !pattern->large || row.best != "host" || row.late_files_mean <= 0)
      continue;
    least_median =
        count == 0 ? row.late_files_median : std::min(least_median, row.late_files_median);
    least_mean = count == 0 ? row.late_files_mean : std::min(least_mean, row.late_files_mean);
    ++count;
  }
  if (count == 0) return not_measured(what, wanted);
  return {what, wanted, fmt::format("{:.2f} and {:.2f}", least_median, least_mean),
          outcome(least_median >= 0.97 && least_mean >= 0.95)};
}

}  // namespace

std::vector<Row> rows_of(const std::vector<Time>& times) {
  std::map<Place, Collected> places;
  for (const auto& time : times) {
    auto& place = places[place_of(time)];
    place.sums[{time.launch.round, time.launch.run, time.contender}].add(time);
    place.served[{time.contender, time.launch.run}].push_back(time.strategy);
  }
  std::vector<Row> rows;
  for (const auto& [place, own] : places) {
    Row row;
    std::tie(row.mpi, row.ranks, row.pattern, row.mode, row.joint) = place;
    // Rows of joint launches are held against the same measurements as the others.
    const auto& fixed = places[{row.mpi, row.ranks, row.pattern, row.mode, false}];
    row.best = best_of(fixed.sums);
    for (const auto& [name, totals] : fixed_totals(fixed.sums, true))
      row.fixed[name] = figures_of(fixed, name, 0, true);
    for (int run = 1; run <= kRuns; ++run) {
      const auto figures = figures_of(own, "auto", run, true);
      if (figures.launches == 0) continue;
      row.automatic[run] = figures;
      compare_run(row, own.sums, fixed.sums, run);
    }
    compare_late_files(row, own.sums);
    if (!row.joint || !row.automatic.empty()) rows.push_back(row);
  }
  return rows;
}

std::vector<Target> targets_of(const std::vector<Row>& rows, bool machine_measured) {
  return {fourth_run(rows),
          fourth_file(rows, machine_measured),
          nothing_known(rows, "files", 0.70),
          nothing_known(rows, "calls", 0.60),
          nothing_known(rows, "rewritten", 0.35),
          nothing_known(rows, "read", 0.15),
          no_row_above(rows),
          large_files(rows)};
}

double late_ratio(const Chain& chain) {
  std::vector<double> ours, best;
  for (const auto& [mine, other] : chain.late) {
    ours.push_back(mine);
    best.push_back(other);
  }
  const double below = median(best);
  return below > 0 ? median(ours) / below : 0;
}

Target target_of(const std::vector<Chain>& chains) {
  const std::string what = "chains of ten runs, the first disturbed: from the fourth run on";
  const std::string wanted = "nine chains of ten at most 1.10 of the best";
  if (chains.empty()) return not_measured(what, wanted);
  std::vector<double> ratios;
  for (const auto& chain : chains) ratios.push_back(late_ratio(chain));
  const auto good = within(ratios, 1.10);
  return {what, wanted,
          fmt::format("{} chains of {}, the worst {:.2f}", good, ratios.size(),
                      *std::max_element(ratios.begin(), ratios.end())),
          outcome(10 * good >= 9 * ratios.size())};
}

}  // namespace choir::rounds
