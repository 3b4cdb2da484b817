#include "multi/assignment_greedy.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace choir::multi {
namespace {

void sort_by_worth(std::vector<Link>& links) {
  std::ranges::sort(links, [](const Link& a, const Link& b) {
    return std::tuple(-a.weight, a.rank, a.file) < std::tuple(-b.weight, b.rank, b.file);
  });
}

/// Counts what ranks and files may still take.
class OpenPlaces {
 public:
  OpenPlaces(const Quotas& quotas, int ranks)
      : slots_(quotas.file_slots), taken_(ranks, 0), base_(quotas.base), extra_(quotas.extra) {
    for (const int slots : slots_) open_ += slots;
  }

  bool any() const { return open_ > 0; }
  bool file_open(int file) const { return slots_[file] > 0; }
  bool rank_open(int rank) const {
    return taken_[rank] < base_ || (taken_[rank] == base_ && extra_ > 0);
  }

  void take(int rank, int file) {
    if (taken_[rank] == base_) --extra_;
    ++taken_[rank];
    --slots_[file];
    --open_;
  }

 private:
  std::vector<int> slots_;
  std::vector<int> taken_;
  int base_;
  int extra_;
  std::int64_t open_ = 0;
};

/// A rank with an open place that does not own the file yet always exists: a file of several
/// slots is served by ranks of one file each.
void fill_in_order(OpenPlaces& places, std::vector<std::vector<int>>& owners) {
  int rank = 0;
  for (std::size_t file = 0; file < owners.size(); ++file)
    while (places.file_open(static_cast<int>(file))) {
      while (!places.rank_open(rank)) ++rank;
      places.take(rank, static_cast<int>(file));
      owners[file].push_back(rank);
    }
}

/// Files without an owner go, the largest first, to the least loaded rank.
void fill_least_loaded(const RequestMatrix& requests, std::vector<std::int64_t>& loads,
                       std::vector<std::vector<int>>& owners) {
  const auto& bytes = requests.file_bytes();
  std::vector<int> open;
  for (int file = 0; file < requests.files(); ++file)
    if (bytes[file] > 0 && owners[file].empty()) open.push_back(file);
  std::ranges::stable_sort(open, std::greater{}, [&](int file) { return bytes[file]; });

  using Loaded = std::pair<std::int64_t, int>;
  std::priority_queue<Loaded, std::vector<Loaded>, std::greater<>> lightest;
  for (int rank = 0; rank < requests.ranks(); ++rank) lightest.emplace(loads[rank], rank);
  for (const int file : open) {
    const int rank = lightest.top().second;
    lightest.pop();
    owners[file].push_back(rank);
    loads[rank] += bytes[file];
    lightest.emplace(loads[rank], rank);
  }
}

Assignment greedy_within_bytes(const Problem& problem, const std::vector<Link>& links) {
  const auto& requests = problem.requests;
  const auto limit = byte_limit(problem);
  auto by_worth = links;
  sort_by_worth(by_worth);
  std::vector<std::int64_t> loads(requests.ranks(), 0);
  std::vector<std::vector<int>> owners(requests.files());
  for (const auto& [rank, file, weight] : by_worth) {
    const auto bytes = requests.file_bytes()[file];
    if (!owners[file].empty() || loads[rank] + bytes > limit) continue;
    owners[file].push_back(rank);
    loads[rank] += bytes;
  }
  fill_least_loaded(requests, loads, owners);
  if (std::ranges::max(loads) <= limit) return {std::move(owners)};

  const auto bins = longest_first_bins(requests);
  const auto bin_owners = greedy_pairs(links_to_bins(links, bins, requests.files()),
                                       one_bin_per_rank(requests.ranks()), requests.ranks());
  return {owners_from_bins(bin_owners, bins, requests.files())};
}

}  // namespace

std::vector<std::vector<int>> greedy_pairs(std::vector<Link> links, const Quotas& quotas,
                                           int ranks) {
  sort_by_worth(links);
  OpenPlaces places(quotas, ranks);
  std::vector<std::vector<int>> owners(quotas.file_slots.size());
  for (const auto& [rank, file, weight] : links) {
    if (!places.any()) break;
    if (!places.rank_open(rank) || !places.file_open(file)) continue;
    places.take(rank, file);
    owners[file].push_back(rank);
  }
  fill_in_order(places, owners);
  for (auto& ranks_of_file : owners) std::ranges::sort(ranks_of_file);
  return owners;
}

Assignment assign_greedy(const Problem& problem) {
  validate(problem);
  const auto quotas = make_quotas(problem.requests);
  auto links = make_links(problem, quotas);
  if (problem.balance == Balance::bytes && !quotas.several_ranks_per_file)
    return greedy_within_bytes(problem, links);
  return {greedy_pairs(std::move(links), quotas, problem.requests.ranks())};
}

}  // namespace choir::multi
