#include "multi/assignment.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>

namespace choir::multi {
namespace {

// Sums stay below this, so that later additions and comparisons cannot overflow.
constexpr std::int64_t bytes_end = std::int64_t{1} << 62;

[[noreturn]] void reject(const std::string& what) { throw std::invalid_argument(what); }

std::string cell_name(int rank, int file) {
  return "rank " + std::to_string(rank) + ", file " + std::to_string(file);
}

void check_request(const Request& request, int ranks, int files) {
  if (request.rank < 0 || request.rank >= ranks || request.file < 0 || request.file >= files)
    reject("request of " + cell_name(request.rank, request.file) + " is outside the matrix of " +
           std::to_string(ranks) + " ranks x " + std::to_string(files) + " files");
  if (request.bytes < 0)
    reject("request of " + cell_name(request.rank, request.file) +
           " is negative: " + std::to_string(request.bytes));
}

using LoadedBin = std::pair<std::int64_t, int>;  // (load, bin): the lowest bin wins a tie
using LightestFirst = std::priority_queue<LoadedBin, std::vector<LoadedBin>, std::greater<>>;

/// Takes ranks one by one to the file whose owners have the largest share. No other distribution
/// with at least one owner per file has a smaller largest share.
std::vector<int> owners_per_file(const RequestMatrix& requests, int files_with_data) {
  const auto& bytes = requests.file_bytes();
  std::vector<int> slots(bytes.size(), 0);
  const auto smaller_share = [&](int a, int b) {
    const auto left = static_cast<__int128>(bytes[a]) * slots[b];
    const auto right = static_cast<__int128>(bytes[b]) * slots[a];
    return left != right ? left < right : a > b;
  };
  std::priority_queue<int, std::vector<int>, decltype(smaller_share)> largest(smaller_share);
  for (int file = 0; file < requests.files(); ++file) {
    if (bytes[file] == 0) continue;
    slots[file] = 1;
    largest.push(file);
  }
  for (int left = requests.ranks() - files_with_data; left > 0; --left) {
    const int file = largest.top();
    largest.pop();
    ++slots[file];
    largest.push(file);
  }
  return slots;
}

}  // namespace

RequestMatrix RequestMatrix::from_entries(int ranks, int files, std::span<const Request> requests) {
  if (ranks < 1) reject("a matrix needs at least one rank");
  if (files < 0) reject("a matrix cannot have a negative number of files");
  std::vector<Request> sorted;
  sorted.reserve(requests.size());
  RequestMatrix matrix;
  for (const auto& request : requests) {
    check_request(request, ranks, files);
    if (request.bytes == 0) continue;
    if (request.bytes >= bytes_end - matrix.total_bytes_) reject("the sizes add up to too much");
    matrix.total_bytes_ += request.bytes;
    sorted.push_back(request);
  }
  std::ranges::sort(sorted, {}, [](const Request& r) { return std::pair(r.rank, r.file); });

  matrix.rank_bytes_.assign(ranks, 0);
  matrix.file_bytes_.assign(files, 0);
  matrix.row_begin_.assign(ranks + std::size_t{1}, 0);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [rank, file, bytes] = sorted[i];
    matrix.rank_bytes_[rank] += bytes;
    matrix.file_bytes_[file] += bytes;
    if (i > 0 && sorted[i - 1].rank == rank && sorted[i - 1].file == file) {
      matrix.cells_.back().bytes += bytes;
      continue;
    }
    matrix.cells_.push_back({file, bytes});
    ++matrix.row_begin_[rank + std::size_t{1}];
  }
  for (int rank = 0; rank < ranks; ++rank)
    matrix.row_begin_[rank + std::size_t{1}] += matrix.row_begin_[rank];
  return matrix;
}

RequestMatrix RequestMatrix::from_dense(int ranks, int files,
                                        std::span<const std::int64_t> row_major) {
  if (ranks < 1 || files < 0 ||
      row_major.size() != static_cast<std::size_t>(ranks) * static_cast<std::size_t>(files))
    reject("a dense matrix needs ranks x files sizes");
  std::vector<Request> requests;
  for (int rank = 0; rank < ranks; ++rank)
    for (int file = 0; file < files; ++file) {
      const auto bytes = row_major[static_cast<std::size_t>(rank) * files + file];
      if (bytes != 0) requests.push_back({rank, file, bytes});
    }
  return from_entries(ranks, files, requests);
}

std::span<const RequestMatrix::Cell> RequestMatrix::row(int rank) const {
  const auto begin = row_begin_.at(rank);
  return std::span(cells_).subspan(begin, row_begin_.at(rank + std::size_t{1}) - begin);
}

std::int64_t RequestMatrix::at(int rank, int file) const {
  const auto cells = row(rank);
  const auto found = std::ranges::lower_bound(cells, file, {}, &Cell::file);
  return found != cells.end() && found->file == file ? found->bytes : 0;
}

void validate(const Problem& problem) {
  const auto ranks = static_cast<std::size_t>(problem.requests.ranks());
  if (ranks < 1) reject("an assignment needs at least one rank");
  if (!problem.node_of_rank.empty() && problem.node_of_rank.size() != ranks)
    reject("nodes are given for " + std::to_string(problem.node_of_rank.size()) + " of " +
           std::to_string(ranks) + " ranks");
  if (std::ranges::any_of(problem.node_of_rank, [](int node) { return node < 0; }))
    reject("a node number is negative");
  if (!(problem.intra_node_cost >= 0 && problem.intra_node_cost <= 1))
    reject("the cost of a move inside a node must be between 0 and 1");
  if (!(problem.alpha >= 0 && std::isfinite(problem.alpha)) ||
      !(problem.beta >= 0 && std::isfinite(problem.beta)))
    reject("alpha and beta must be finite and not negative");
  if (!(problem.slack >= 0 && std::isfinite(problem.slack)))
    reject("the slack must be finite and not negative");
}

bool has_topology(const Problem& problem) {
  return !problem.node_of_rank.empty() && problem.intra_node_cost < 1;
}

Quotas make_quotas(const RequestMatrix& requests) {
  const auto& bytes = requests.file_bytes();
  const auto files_with_data =
      static_cast<int>(std::ranges::count_if(bytes, [](std::int64_t b) { return b > 0; }));
  Quotas quotas;
  quotas.several_ranks_per_file = files_with_data > 0 && requests.ranks() > files_with_data;
  if (quotas.several_ranks_per_file) {
    quotas.file_slots = owners_per_file(requests, files_with_data);
    quotas.base = 1;
    return quotas;
  }
  for (const auto b : bytes) quotas.file_slots.push_back(b > 0 ? 1 : 0);
  quotas.base = files_with_data / requests.ranks();
  quotas.extra = files_with_data % requests.ranks();
  return quotas;
}

std::vector<std::vector<int>> longest_first_bins(const RequestMatrix& requests) {
  const auto& bytes = requests.file_bytes();
  std::vector<int> order;
  for (int file = 0; file < requests.files(); ++file)
    if (bytes[file] > 0) order.push_back(file);
  std::ranges::stable_sort(order, std::greater{}, [&](int file) { return bytes[file]; });

  std::vector<std::vector<int>> bins(requests.ranks());
  LightestFirst lightest;
  for (int bin = 0; bin < requests.ranks(); ++bin) lightest.emplace(0, bin);
  for (const int file : order) {
    const auto [load, bin] = lightest.top();
    lightest.pop();
    bins[bin].push_back(file);
    lightest.emplace(load + bytes[file], bin);
  }
  return bins;
}

std::int64_t byte_limit(const Problem& problem) {
  const auto& requests = problem.requests;
  std::int64_t reachable = 0;
  for (const auto& bin : longest_first_bins(requests)) {
    std::int64_t load = 0;
    for (const int file : bin) load += requests.file_bytes()[file];
    reachable = std::max(reachable, load);
  }
  const double wanted = (1 + problem.slack) * static_cast<double>(requests.total_bytes()) /
                        std::max(1, requests.ranks());
  if (wanted >= static_cast<double>(requests.total_bytes())) return requests.total_bytes();
  return std::max(reachable, static_cast<std::int64_t>(wanted));
}

}  // namespace choir::multi
