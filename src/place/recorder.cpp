#include "place/recorder.hpp"

#include <stdexcept>
#include <string>

#include "place/neighbours.hpp"

namespace choir::place {

namespace {

constexpr std::int64_t most_runs_per_rank = 64;

std::uint64_t mix(std::uint64_t hash, std::int64_t value) {
  hash ^= static_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15ULL + (hash << 12) + (hash >> 4);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33);
}

std::uint64_t key_of(const GatheredRuns& runs, std::int64_t base) {
  std::uint64_t hash = 1;
  for (const auto first : runs.first) hash = mix(hash, first);
  for (const auto& run : runs.runs) {
    hash = mix(hash, run.offset - base);
    hash = mix(hash, run.length);
    hash = mix(hash, run.stride);
    hash = mix(hash, run.count);
  }
  return hash;
}

/// Bytes spread evenly over a bin, as a few blocks.
void append_bin(std::vector<AccessRun>& out, std::int64_t begin, std::int64_t width,
                std::int64_t bytes) {
  constexpr std::int64_t blocks = 8;
  const auto length = std::min(bytes, width) / blocks;
  if (length > 0) out.push_back({begin, length, width / blocks, blocks});
  const auto rest = bytes - length * blocks;
  if (rest > 0) out.push_back({begin, std::min(rest, width), std::min(rest, width), 1});
}

std::vector<AccessRun> histogram(std::span<const AccessRun> runs, std::int64_t span,
                                 std::int64_t bins) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(bins));
  const auto cut = [&](std::int64_t i) {
    return static_cast<std::int64_t>(static_cast<__int128>(span) * i / bins);
  };
  for (const auto& run : runs) {
    const auto first = static_cast<std::int64_t>(static_cast<__int128>(run.offset) * bins / span);
    for (auto bin = first; bin < bins && cut(bin) < end_of(run); ++bin)
      bytes[static_cast<std::size_t>(bin)] += bytes_between(run, cut(bin), cut(bin + 1));
  }
  std::vector<AccessRun> result;
  for (std::int64_t bin = 0; bin < bins; ++bin)
    if (const auto sum = bytes[static_cast<std::size_t>(bin)]; sum > 0)
      append_bin(result, cut(bin), cut(bin + 1) - cut(bin), sum);
  return result;
}

}  // namespace

Pattern pattern_of(const GatheredRuns& runs) {
  const auto span = span_of(runs);
  Pattern pattern;
  pattern.span = span.end - span.begin;
  pattern.times = 1;
  const auto bins = std::clamp<std::int64_t>((1 << 22) / std::max(1, runs.ranks()), 32, 256);
  std::vector<AccessRun> of_rank;
  for (int rank = 0; rank < runs.ranks(); ++rank) {
    of_rank.clear();
    for (auto run : runs.of(rank)) {
      if (run.length <= 0 || run.count <= 0) continue;
      run = normalised(run);
      run.offset -= span.begin;
      of_rank.push_back(run);
    }
    if (static_cast<std::int64_t>(of_rank.size()) > most_runs_per_rank &&
        pattern.span >= 64 * bins) {
      of_rank = histogram(of_rank, pattern.span, bins);
      pattern.coarse = true;
    }
    for (const auto& run : of_rank) pattern.bytes += run.length * run.count;
    pattern.runs.append_rank(of_rank);
  }
  return pattern;
}

Recorder::Recorder(int ranks) {
  if (ranks < 1) throw std::invalid_argument("a recording needs at least one rank");
  recording_.ranks = ranks;
}

void Recorder::check(const GatheredRuns& runs) const {
  if (runs.ranks() != recording_.ranks)
    throw std::invalid_argument("runs of " + std::to_string(runs.ranks()) +
                                " ranks given to a recording of " +
                                std::to_string(recording_.ranks));
  for (const auto& run : runs.runs)
    if (run.offset < 0) throw std::invalid_argument("a run begins before the file");
}

void Recorder::add_call(const GatheredRuns& runs) {
  check(runs);
  const auto span = span_of(runs);
  if (span.bytes == 0) return;
  ++recording_.calls;
  recording_.bytes += span.bytes;
  const auto key = key_of(runs, span.begin);
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].key != key) continue;
    ++known_[i].times;
    ++recording_.patterns[i].times;
    return;
  }
  Contacts fresh{key, 1, {}};
  if (!count_neighbours(runs, fresh.sums)) recording_.estimated = true;
  if (known_.size() >= Recording::most_patterns) {
    recording_.call_contacts.add(fresh.sums, 1);
    return;
  }
  recording_.patterns.push_back(pattern_of(runs));
  known_.push_back(std::move(fresh));
}

void Recorder::add_view(const GatheredRuns& runs) {
  check(runs);
  ++recording_.views;
  if (!count_neighbours(runs, recording_.view_contacts)) recording_.estimated = true;
}

Recording Recorder::recording() const {
  Recording result = recording_;
  for (const auto& contacts : known_) result.call_contacts.add(contacts.sums, contacts.times);
  return result;
}

}  // namespace choir::place
