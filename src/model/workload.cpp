#include "model/workload.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>

namespace choir::model {
namespace {

std::int64_t at_least_one(std::int64_t bytes, std::int64_t unit) {
  return std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, unit));
}

std::int64_t usual_piece(const std::string& name) {
  if (name == "vector" || name == "noncontig") return 64;
  if (name == "matrix") return 16384;
  if (name == "everyone4k") return 4096;
  if (name == "irregular") return 512;
  return 1024;
}

Access whole(TilePtr tile, std::int64_t origin, std::int64_t bytes) {
  return {{std::move(tile), origin}, 0, bytes};
}

}  // namespace

std::pair<int, int> two_dimensions(int ranks) {
  int small = 1;
  for (int factor = 1; factor <= ranks / factor; ++factor)
    if (ranks % factor == 0) small = factor;
  return {ranks / small, small};
}

const std::vector<std::string>& Workload::names() {
  static const std::vector<std::string> all{"vector",     "noncontig", "matrix",
                                            "tile",       "rows",      "flash",
                                            "everyone4k", "irregular", "contiguous"};
  return all;
}

Workload::Workload(WorkloadParameters parameters) : p_(std::move(parameters)) {
  if (std::find(names().begin(), names().end(), p_.name) == names().end()) {
    std::string known;
    for (const auto& name : names()) known += (known.empty() ? "" : ", ") + name;
    throw std::invalid_argument("unknown workload '" + p_.name + "'; known: " + known);
  }
  if (p_.ranks < 1 || p_.bytes_per_rank < 1 || p_.piece < 0 || p_.depth < 1 || p_.holes < 0 ||
      p_.holes > 90)
    throw std::invalid_argument(
        "workload " + p_.name +
        ": ranks, bytes and depth are at least 1, pieces not negative, holes at most 90 percent");
  if (p_.piece == 0) p_.piece = usual_piece(p_.name);
  if (p_.piece > std::int64_t{1} << 40 || p_.bytes_per_rank > (std::int64_t{1} << 60) / p_.ranks)
    throw std::invalid_argument("workload " + p_.name +
                                ": the file would be larger than a file offset can say");
  if (p_.name == "noncontig" && p_.piece % 4 != 0)
    throw std::invalid_argument("noncontig: the piece is a multiple of 4 bytes");
  if (p_.name == "matrix") calls_ = at_least_one(p_.bytes_per_rank, p_.piece * p_.depth);
  if (p_.name == "flash") {
    calls_ = 24;
    const bool a = p_.configuration == "A", b = p_.configuration == "B";
    if (!a && !b && p_.configuration != "scaled")
      throw std::invalid_argument("flash: configuration is A, B or scaled");
    const auto blocks = a ? 1500 : b ? 600 : at_least_one(p_.bytes_per_rank, 24 * 8 * 8 * 8 * 8);
    slab_ = blocks * (a ? 1 : 512) * 8;
  }
  if (p_.name == "irregular") draw_irregular();
  std::tie(grid_rows_, grid_columns_) = two_dimensions(p_.ranks);
  if (p_.name == "vector" || p_.name == "noncontig" || p_.name == "matrix")
    shared_ = std::make_shared<Tile>(Runs{{0, p_.piece, 0, 1}}, p_.piece * p_.ranks);
}

/// Draws in the order of the bench, so that the same seed gives the same pieces.
void Workload::draw_irregular() {
  std::mt19937_64 random(p_.seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  std::vector<Runs> runs(static_cast<std::size_t>(p_.ranks));
  const auto total = p_.bytes_per_rank * p_.ranks;
  std::int64_t at = 0;
  for (std::int64_t placed = 0; placed < total;) {
    const auto length = 1 + below(2 * p_.piece - 1);
    if (below(100) >= p_.holes) {
      append(runs[static_cast<std::size_t>(below(p_.ranks))], {at, length, 0, 1});
      placed += length;
    }
    at += length;
  }
  for (auto& mine : runs)
    irregular_.push_back(mine.empty() ? nullptr : std::make_shared<Tile>(std::move(mine), at));
}

Access Workload::access(int rank, std::int64_t call) const {
  if (p_.name == "contiguous")
    return whole(contiguous_tile(), rank * p_.bytes_per_rank, p_.bytes_per_rank);
  if (p_.name == "matrix") return interleaved(rank, call * p_.depth, p_.depth);
  if (p_.name == "tile" || p_.name == "rows") return tile(rank);
  if (p_.name == "flash") return flash(rank, call);
  if (p_.name == "everyone4k") return rotating(rank);
  if (p_.name == "irregular") {
    const auto& mine = irregular_[static_cast<std::size_t>(rank)];
    return mine ? whole(mine, 0, mine->bytes()) : whole(contiguous_tile(), 0, 0);
  }
  return interleaved(rank, 0, at_least_one(p_.bytes_per_rank, p_.piece));
}

Access Workload::interleaved(int rank, std::int64_t first, std::int64_t blocks) const {
  return {{shared_, rank * p_.piece}, first * p_.piece, (first + blocks) * p_.piece};
}

/// Two-dimensional tiles, ranks in a row-major grid.
Access Workload::tile(int rank) const {
  std::int64_t width = p_.piece, height = at_least_one(p_.bytes_per_rank, p_.piece), element = 1;
  if (p_.name == "tile") {
    element = p_.piece;
    const bool large = element >= (1 << 20);
    const auto fit = at_least_one(p_.bytes_per_rank, element);
    width = std::min<std::int64_t>(p_.width > 0 ? p_.width : large ? 40 : 768, fit);
    height = std::min<std::int64_t>(p_.height > 0 ? p_.height
                                    : large       ? 15
                                                  : 800,
                                    at_least_one(fit, width));
  }
  const auto row = width * element, line = row * grid_columns_;
  const auto origin = rank / grid_columns_ * height * line + rank % grid_columns_ * row;
  Runs runs;
  append(runs, {0, row, line, height});
  return whole(std::make_shared<Tile>(std::move(runs), height * line), origin, row * height);
}

/// Segment k of rank r is number (r + k) mod P of row k: one stride until the order wraps.
Access Workload::rotating(int rank) const {
  const std::int64_t ranks = p_.ranks, segments = at_least_one(p_.bytes_per_rank, p_.piece);
  const auto stride = (ranks + 1) * p_.piece;
  Runs runs;
  for (std::int64_t k = 0; k < segments;) {
    const auto column = (rank + k) % ranks;
    const auto count = std::min(segments - k, ranks - column);
    const auto at = (k * ranks + column) * p_.piece;
    append(runs, {at, p_.piece, 0, 1});  // the first one may continue the row before
    if (count > 1) append(runs, {at + stride, p_.piece, stride, count - 1});
    k += count;
  }
  return whole(std::make_shared<Tile>(std::move(runs), segments * ranks * p_.piece), 0,
               segments * p_.piece);
}

Access Workload::flash(int rank, std::int64_t call) const {
  const auto begin = (call * p_.ranks + rank) * slab_;
  return {{contiguous_tile(), 0}, begin, begin + slab_};
}

std::vector<RankSummary> Workload::summaries(std::int64_t call) const {
  std::vector<RankSummary> all;
  all.reserve(static_cast<std::size_t>(p_.ranks));
  for (int rank = 0; rank < p_.ranks; ++rank) {
    const auto one = access(rank, call);
    const auto span = one.span();
    all.push_back({span.begin, span.end, one.bytes(), one.bytes() > 0 ? shape_of(one) : Shape{}});
  }
  return all;
}

}  // namespace choir::model
