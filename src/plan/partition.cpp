#include "plan/partition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace choir {
namespace {

const RankSummary& summary(std::span<const RankSummary> ranks, int rank) {
  return ranks[static_cast<std::size_t>(rank)];
}

/// A point of the file where the density of asked bytes changes.
struct Edge {
  std::int64_t at;
  double density;
};

std::vector<Edge> density_edges(std::span<const RankSummary> ranks, std::span<const int> members) {
  std::vector<Edge> edges;
  edges.reserve(2 * members.size());
  for (const int rank : members) {
    const auto& one = summary(ranks, rank);
    if (one.empty()) continue;
    const double density = static_cast<double>(one.bytes) / static_cast<double>(one.high - one.low);
    edges.push_back({one.low, density});
    edges.push_back({one.high, -density});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.at != b.at ? a.at < b.at : a.density < b.density;
  });
  return edges;
}

/// Not down: a cut just below a stripe would leave one aggregator without any, and another with
/// two.
std::int64_t align_near(std::int64_t value, std::int64_t align) {
  const auto moved = value + align / 2;
  return moved - moved % align;
}

}  // namespace

bool fill_their_span(std::span<const RankSummary> ranks) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max(), end = 0, bytes = 0;
  for (const auto& rank : ranks) {
    if (rank.empty()) continue;
    origin = std::min(origin, rank.low);
    end = std::max(end, rank.high);
    bytes += rank.bytes;
  }
  if (bytes == 0 || bytes != end - origin) return false;
  // Parts that are as long as the span together, and do not overlap, leave nothing out.
  std::vector<Extent> parts;  // of the span, or of a period of it
  std::int64_t period = -1;
  for (const auto& rank : ranks) {
    if (rank.empty()) continue;
    const bool periodic = rank.shape.kind == Shape::Kind::periodic;
    if (rank.shape.kind == Shape::Kind::cells || (periodic && rank.shape.skipped() != 0))
      return false;
    const auto own_period = periodic ? rank.shape.stride() : end - origin;
    if (period != -1 && own_period != period) return false;
    period = own_period;
    const auto begin = (rank.low - origin) % period;
    parts.push_back({begin, begin + (periodic ? rank.shape.length() : rank.high - rank.low)});
  }
  std::sort(parts.begin(), parts.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].begin < parts[i - 1].end) return false;
  return parts.back().end <= period;
}

Extent span_of(std::span<const RankSummary> ranks, std::span<const int> members) {
  Extent span{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (const int rank : members) {
    const auto& one = summary(ranks, rank);
    if (one.empty()) continue;
    span.begin = std::min(span.begin, one.low);
    span.end = std::max(span.end, one.high);
  }
  return span.end < span.begin ? Extent{} : span;
}

std::int64_t bytes_of(std::span<const RankSummary> ranks, std::span<const int> members) {
  std::int64_t bytes = 0;
  for (const int rank : members) bytes += summary(ranks, rank).bytes;
  return bytes;
}

std::vector<std::int64_t> cut_by_bytes(std::span<const RankSummary> ranks,
                                       std::span<const int> members, int parts,
                                       std::int64_t align) {
  const auto span = span_of(ranks, members);
  std::vector<std::int64_t> cuts{span.begin};
  if (parts > 1) {
    const auto edges = density_edges(ranks, members);
    const auto total = static_cast<double>(bytes_of(ranks, members));
    double before = 0, density = 0;
    for (std::size_t i = 0; i < edges.size() && static_cast<int>(cuts.size()) < parts; ++i) {
      density += edges[i].density;
      if (i + 1 == edges.size()) break;
      const auto width = edges[i + 1].at - edges[i].at;
      const double here = density * static_cast<double>(width);
      while (static_cast<int>(cuts.size()) < parts) {
        const double wanted = total * static_cast<double>(cuts.size()) / parts;
        if (wanted > before + here || here <= 0) break;
        // Rounded: an error in the last digit must not cost a whole page.
        const std::int64_t into = std::llround((wanted - before) / density);
        const auto cut = align_near(edges[i].at + std::min(into, width), align);
        cuts.push_back(std::clamp(cut, cuts.back(), span.end));
      }
      before += here;
    }
  }
  while (static_cast<int>(cuts.size()) < parts) cuts.push_back(span.end);
  cuts.push_back(span.end);
  return cuts;
}

std::vector<std::vector<int>> groups_by_layout(std::span<const RankSummary> ranks, int group_size) {
  std::vector<int> order;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (!ranks[rank].empty()) order.push_back(static_cast<int>(rank));
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const auto &first = summary(ranks, a), &second = summary(ranks, b);
    return first.low != second.low ? first.low < second.low : a < b;
  });
  std::vector<std::vector<int>> groups;
  const auto size = static_cast<std::size_t>(std::max(1, group_size));
  for (std::size_t at = 0; at < order.size(); at += size)
    groups.emplace_back(
        order.begin() + static_cast<std::ptrdiff_t>(at),
        order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), at + size)));
  return groups;
}

std::vector<int> nodes_by_data(const PlanInput& in) {
  std::vector<int> nodes(static_cast<std::size_t>(in.topology.nodes()));
  std::iota(nodes.begin(), nodes.end(), 0);
  std::vector<double> place(nodes.size(), std::numeric_limits<double>::max());
  for (const int node : nodes) {
    double sum = 0, count = 0;
    for (const int rank : in.topology.ranks_of(node)) {
      const auto& one = summary(in.ranks, rank);
      if (one.empty()) continue;
      sum += static_cast<double>(one.low) / 2 + static_cast<double>(one.high) / 2;
      count += 1;
    }
    if (count > 0) place[static_cast<std::size_t>(node)] = sum / count;
  }
  std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) {
    return place[static_cast<std::size_t>(a)] < place[static_cast<std::size_t>(b)];
  });
  return nodes;
}

}  // namespace choir
