#include "multi/assignment_matching.hpp"

#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "multi/assignment_greedy.hpp"
#include "multi/assignment_refine.hpp"

namespace choir::multi {
namespace {

using Graph = lemon::SmartDigraph;
using Owners = std::vector<std::vector<int>>;

// Up to this many pairs, all pairs are given to the solver with a rule for ties.
constexpr std::int64_t max_dense_pairs = 1 << 14;
// Costs x nodes stay below this: the solver adds up costs along paths.
constexpr std::int64_t max_cost_sum = std::int64_t{1} << 60;

/// A transport problem instead of copied vertices: what would be k copies of a vertex is one
/// vertex through which k units flow, which gives the same matching from a smaller graph.
class Transport {
 public:
  Transport(const Quotas& quotas, int ranks, std::int64_t links)
      : quotas_(quotas),
        ranks_(ranks),
        cost_(graph_),
        lower_(graph_),
        upper_(graph_),
        supply_(graph_) {
    const auto files = static_cast<int>(quotas.file_slots.size());
    graph_.reserveNode(ranks + files + 2);
    graph_.reserveArc(static_cast<int>(links + 2 * ranks + files));
    for (int i = 0; i < ranks + files; ++i) graph_.addNode();
    source_ = graph_.addNode();
    std::int64_t units = 0;
    for (int file = 0; file < files; ++file) {
      supply_[file_node(file)] = -quotas.file_slots[file];
      units += quotas.file_slots[file];
    }
    supply_[source_] = units;
    for (int rank = 0; rank < ranks; ++rank)
      add_arc(source_, graph_.nodeFromId(rank), 0, quotas.base, most_files());
    first_link_ = graph_.arcNum();
  }

  void add_link(int rank, int file, std::int64_t worth) {
    add_arc(graph_.nodeFromId(rank), file_node(file), -worth, 0, 1);
  }

  /// Lets any rank take any file for nothing, through one vertex instead of ranks x files arcs.
  void add_worthless_pairs() {
    const auto hub = graph_.addNode();
    first_to_hub_ = graph_.arcNum();
    for (int rank = 0; rank < ranks_; ++rank)
      add_arc(graph_.nodeFromId(rank), hub, 0, 0, most_files());
    first_from_hub_ = graph_.arcNum();
    for (std::size_t file = 0; file < quotas_.file_slots.size(); ++file)
      add_arc(hub, file_node(static_cast<int>(file)), 0, 0, quotas_.file_slots[file]);
  }

  Owners solve() {
    lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t> solver(graph_);
    solver.lowerMap(lower_).upperMap(upper_).costMap(cost_).supplyMap(supply_);
    if (solver.run() != decltype(solver)::OPTIMAL)
      throw std::logic_error("the quotas of the matching do not add up");
    Owners owners(quotas_.file_slots.size());
    std::vector<int> takers;  // of worthless pairs
    std::vector<int> untaken;
    const int links_end = first_to_hub_ < 0 ? graph_.arcNum() : first_to_hub_;
    for (int id = first_link_; id < graph_.arcNum(); ++id) {
      const auto arc = graph_.arcFromId(id);
      const auto flow = static_cast<std::size_t>(solver.flow(arc));
      const int rank = Graph::id(graph_.source(arc));
      const int file = Graph::id(graph_.target(arc)) - ranks_;
      if (id < links_end) {
        if (flow > 0) owners[file].push_back(rank);
      } else if (id < first_from_hub_) {
        takers.insert(takers.end(), flow, rank);
      } else {
        untaken.insert(untaken.end(), flow, file);
      }
    }
    for (std::size_t i = 0; i < takers.size(); ++i) owners[untaken[i]].push_back(takers[i]);
    for (auto& of_file : owners) std::ranges::sort(of_file);
    return owners;
  }

 private:
  Graph::Node file_node(int file) const { return graph_.nodeFromId(ranks_ + file); }
  std::int64_t most_files() const { return quotas_.base + (quotas_.extra > 0 ? 1 : 0); }

  void add_arc(Graph::Node from, Graph::Node to, std::int64_t cost, std::int64_t lower,
               std::int64_t upper) {
    const auto arc = graph_.addArc(from, to);
    cost_[arc] = cost;
    lower_[arc] = lower;
    upper_[arc] = upper;
  }

  const Quotas& quotas_;
  int ranks_;
  Graph graph_;
  Graph::ArcMap<std::int64_t> cost_;
  Graph::ArcMap<std::int64_t> lower_;
  Graph::ArcMap<std::int64_t> upper_;
  Graph::NodeMap<std::int64_t> supply_;
  Graph::Node source_;
  int first_link_ = 0;
  int first_to_hub_ = -1;
  int first_from_hub_ = -1;
};

/// Weights are divided by this, without loss unless they are near the end of 64 bits.
std::int64_t weight_unit(const std::vector<Link>& links, std::int64_t nodes) {
  std::int64_t unit = 0;
  std::int64_t largest = 0;
  for (const auto& link : links) {
    unit = std::gcd(unit, link.weight);
    largest = std::max(largest, link.weight);
  }
  return std::max<std::int64_t>(unit, largest / (max_cost_sum / nodes) + 1);
}

/// All pairs, with a term for ties that is too small to outweigh one unit of worth.
Owners dense_matching(const std::vector<Link>& links, const Quotas& quotas, int ranks,
                      std::int64_t unit) {
  const auto files = static_cast<std::int64_t>(quotas.file_slots.size());
  const auto nodes = ranks + files + 2;
  std::int64_t largest = 0;
  for (const auto& link : links) largest = std::max(largest, link.weight / unit);
  auto tie_end = ranks * files * std::max<std::int64_t>(ranks, files) + 1;
  const bool ties = largest < max_cost_sum / nodes / tie_end;
  if (!ties) tie_end = 1;

  std::vector<std::int64_t> worth(static_cast<std::size_t>(ranks * files), 0);
  for (const auto& link : links)
    worth[link.rank * files + link.file] = link.weight / unit * tie_end;
  Transport transport(quotas, ranks, ranks * files);
  for (int rank = 0; rank < ranks; ++rank)
    for (int file = 0; file < files; ++file) {
      if (quotas.file_slots[file] == 0) continue;
      const auto tie = ties ? rank * (files - file) : 0;
      transport.add_link(rank, file, worth[rank * files + file] + tie);
    }
  return transport.solve();
}

Owners sparse_matching(const std::vector<Link>& links, const Quotas& quotas, int ranks,
                       std::int64_t unit) {
  Transport transport(quotas, ranks, static_cast<std::int64_t>(links.size()));
  for (const auto& link : links) transport.add_link(link.rank, link.file, link.weight / unit);
  transport.add_worthless_pairs();
  return transport.solve();
}

/// The most valuable links of each file, at most `limit` in all. A file of several slots may keep
/// as many times more.
std::vector<Link> prune(std::vector<Link> links, const Quotas& quotas, std::int64_t limit) {
  std::int64_t slots = 0;
  for (const int s : quotas.file_slots) slots += s;
  const auto per_slot = std::max<std::int64_t>(1, limit / std::max<std::int64_t>(1, slots));
  std::ranges::sort(links, [](const Link& a, const Link& b) {
    return std::tuple(a.file, -a.weight, a.rank) < std::tuple(b.file, -b.weight, b.rank);
  });
  std::vector<Link> kept;
  std::int64_t of_file = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    of_file = i > 0 && links[i - 1].file == links[i].file ? of_file + 1 : 0;
    if (of_file < per_slot * quotas.file_slots[links[i].file]) kept.push_back(links[i]);
  }
  return kept;
}

bool keeps_limit(const RequestMatrix& requests, std::int64_t limit, const Owners& owners) {
  std::vector<std::int64_t> loads(requests.ranks(), 0);
  for (std::size_t file = 0; file < owners.size(); ++file)
    for (const int rank : owners[file]) loads[rank] += requests.file_bytes()[file];
  return std::ranges::max(loads) <= limit;
}

/// The best of a matching of files, if it keeps the limit, of bins and of greedy, refined.
Assignment matching_within_bytes(const Problem& problem, const Quotas& quotas,
                                 const std::vector<Link>& links, const MatchingOptions& options) {
  const auto& requests = problem.requests;
  const auto limit = byte_limit(problem);
  const auto bins = longest_first_bins(requests);
  const auto bin_owners =
      matching_pairs(links_to_bins(links, bins, requests.files()),
                     one_bin_per_rank(requests.ranks()), requests.ranks(), options);
  std::vector<Assignment> starts{{owners_from_bins(bin_owners, bins, requests.files())},
                                 assign_greedy(problem)};
  auto of_files = matching_pairs(links, quotas, requests.ranks(), options);
  if (keeps_limit(requests, limit, of_files)) starts.push_back({std::move(of_files)});

  Assignment best;
  std::int64_t most = -1;
  for (auto& start : starts) {
    auto refined = refine_within_bytes(requests, links, limit, start);
    const auto worth = total_worth(refined, links);
    if (worth <= most) continue;
    most = worth;
    best = std::move(refined);
  }
  return best;
}

}  // namespace

Owners matching_pairs(const std::vector<Link>& links, const Quotas& quotas, int ranks,
                      const MatchingOptions& options) {
  const auto files = static_cast<std::int64_t>(quotas.file_slots.size());
  const auto unit = weight_unit(links, ranks + files + 3);
  if (ranks * files <= max_dense_pairs) return dense_matching(links, quotas, ranks, unit);
  if (static_cast<std::int64_t>(links.size()) <= options.max_links)
    return sparse_matching(links, quotas, ranks, unit);
  auto owners = sparse_matching(prune(links, quotas, options.max_links), quotas, ranks, unit);
  auto greedy = greedy_pairs(links, quotas, ranks);
  return total_worth({greedy}, links) > total_worth({owners}, links) ? greedy : owners;
}

Assignment assign_matching(const Problem& problem, const MatchingOptions& options) {
  validate(problem);
  const auto& requests = problem.requests;
  const auto quotas = make_quotas(requests);
  const auto links = make_links(problem, quotas);
  if (problem.balance == Balance::bytes && !quotas.several_ranks_per_file)
    return matching_within_bytes(problem, quotas, links, options);
  return {matching_pairs(links, quotas, requests.ranks(), options)};
}

}  // namespace choir::multi
