#include "multi/assignment_links.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace choir::multi {
namespace {

struct PairBytes {
  std::int64_t own;   ///< asked by the rank
  std::int64_t node;  ///< asked by the rank's node, the rank included
  std::int64_t file;  ///< asked by everyone
};

std::int64_t pair_weight(PairBytes bytes, int owners, double intra_node_cost) {
  const auto share = bytes.file / owners;
  const auto kept = std::min(bytes.own, share);
  const auto others = bytes.file - bytes.own;
  if (others == 0 || bytes.node == bytes.own) return kept;
  const double from_node = static_cast<double>(share - kept) *
                           static_cast<double>(bytes.node - bytes.own) /
                           static_cast<double>(others);
  return kept + std::llround((1 - intra_node_cost) * from_node);
}

std::vector<Link> links_of_requesters(const RequestMatrix& requests, const Quotas& quotas) {
  std::vector<Link> links;
  links.reserve(requests.cells());
  for (int rank = 0; rank < requests.ranks(); ++rank)
    for (const auto [file, bytes] : requests.row(rank)) {
      const auto weight =
          pair_weight({bytes, bytes, requests.file_bytes()[file]}, quotas.file_slots[file], 1);
      if (weight > 0) links.push_back({rank, file, weight});
    }
  return links;
}

/// What the ranks of one node ask together, by ascending file.
std::vector<RequestMatrix::Cell> node_row(const RequestMatrix& requests,
                                          const std::vector<int>& ranks) {
  std::vector<RequestMatrix::Cell> cells;
  for (const int rank : ranks) {
    const auto row = requests.row(rank);
    cells.insert(cells.end(), row.begin(), row.end());
  }
  std::ranges::sort(cells, {}, &RequestMatrix::Cell::file);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (kept > 0 && cells[kept - 1].file == cells[i].file)
      cells[kept - 1].bytes += cells[i].bytes;
    else
      cells[kept++] = cells[i];
  }
  cells.resize(kept);
  return cells;
}

void add_links_of_node(const Problem& problem, const Quotas& quotas, const std::vector<int>& ranks,
                       std::vector<Link>& links) {
  const auto& requests = problem.requests;
  const auto together = node_row(requests, ranks);
  for (const int rank : ranks) {
    auto own = requests.row(rank);
    for (const auto [file, node_bytes] : together) {
      std::int64_t own_bytes = 0;
      if (!own.empty() && own.front().file == file) {
        own_bytes = own.front().bytes;
        own = own.subspan(1);
      }
      const auto weight = pair_weight({own_bytes, node_bytes, requests.file_bytes()[file]},
                                      quotas.file_slots[file], problem.intra_node_cost);
      if (weight > 0) links.push_back({rank, file, weight});
    }
  }
}

}  // namespace

std::vector<Link> make_links(const Problem& problem, const Quotas& quotas) {
  if (!has_topology(problem)) return links_of_requesters(problem.requests, quotas);
  std::map<int, std::vector<int>> ranks_of_node;
  for (int rank = 0; rank < problem.requests.ranks(); ++rank)
    ranks_of_node[problem.node_of_rank[rank]].push_back(rank);
  std::vector<Link> links;
  for (const auto& [node, ranks] : ranks_of_node) add_links_of_node(problem, quotas, ranks, links);
  std::ranges::sort(links, {}, [](const Link& l) { return std::pair(l.rank, l.file); });
  return links;
}

std::vector<Link> links_to_bins(const std::vector<Link>& links,
                                const std::vector<std::vector<int>>& bins, int files) {
  std::vector<int> bin_of_file(files, -1);
  for (std::size_t bin = 0; bin < bins.size(); ++bin)
    for (const int file : bins[bin]) bin_of_file[file] = static_cast<int>(bin);
  auto to_bins = links;
  for (auto& link : to_bins) link.file = bin_of_file[link.file];
  std::ranges::sort(to_bins, {}, [](const Link& l) { return std::pair(l.rank, l.file); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < to_bins.size(); ++i) {
    const bool same = kept > 0 && to_bins[kept - 1].rank == to_bins[i].rank &&
                      to_bins[kept - 1].file == to_bins[i].file;
    if (same)
      to_bins[kept - 1].weight += to_bins[i].weight;
    else
      to_bins[kept++] = to_bins[i];
  }
  to_bins.resize(kept);
  return to_bins;
}

Quotas one_bin_per_rank(int ranks) {
  Quotas quotas;
  quotas.file_slots.assign(ranks, 1);
  quotas.base = 1;
  return quotas;
}

std::vector<std::vector<int>> owners_from_bins(const std::vector<std::vector<int>>& bin_owners,
                                               const std::vector<std::vector<int>>& bins,
                                               int files) {
  std::vector<std::vector<int>> owners(files);
  for (std::size_t bin = 0; bin < bins.size(); ++bin)
    for (const int file : bins[bin]) owners[file] = bin_owners[bin];
  return owners;
}

}  // namespace choir::multi
