#include "multi/assignment_exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "multi/assignment_cost.hpp"
#include "multi/assignment_links.hpp"
#include "multi/assignment_matching.hpp"

#ifdef CHOIR_HAVE_CBC
#include <Cbc_C_Interface.h>
#endif

namespace choir::multi {

#ifndef CHOIR_HAVE_CBC

bool exact_available() { return false; }

ExactResult assign_exact(const Problem&, const ExactOptions&) {
  throw std::runtime_error("exact assignment needs CBC, which this build does not have");
}

#else

namespace {

// Coefficients above this lose the solver's tolerances (1e-6 relative to 1).
constexpr double largest_coefficient = 1e7;
constexpr double largest_tied_objective = 1e9;

struct FreeModel {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using Model = std::unique_ptr<Cbc_Model, FreeModel>;

struct Row {
  std::vector<int> columns;
  std::vector<double> coefficients;

  void add(int column, double coefficient) {
    columns.push_back(column);
    coefficients.push_back(coefficient);
  }
};

/// The 0-1 program: x[i][j] for every rank and every file with data, then M for the response.
class Program {
 public:
  Program(const Problem& problem, const ExactOptions& options)
      : problem_(problem),
        requests_(problem.requests),
        options_(options),
        quotas_(make_quotas(requests_)),
        model_(Cbc_newModel()) {
    if (!model_) throw std::bad_alloc();
    for (int file = 0; file < requests_.files(); ++file)
      if (requests_.file_bytes()[file] > 0) files_.push_back(file);
    unit_ = bytes_per_unit();
    add_columns();
    add_file_rows();
    add_balance_rows();
    if (options.objective == Objective::response) add_response_rows();
  }

  ExactResult solve(const Assignment& start) {
    set_start(start);
    Cbc_setObjSense(model_.get(), 1);
    Cbc_setLogLevel(model_.get(), 0);
    Cbc_setParameter(model_.get(), "log", "0");
    Cbc_setParameter(model_.get(), "timeMode", "elapsed");
    Cbc_setMaximumSeconds(model_.get(), options_.time_limit_s);
    Cbc_solve(model_.get());
    const double* solution = Cbc_bestSolution(model_.get());
    if (solution == nullptr) return {start, false};
    return {read(solution), Cbc_isProvenOptimal(model_.get()) != 0};
  }

 private:
  int ranks() const { return requests_.ranks(); }
  int column(int rank, std::size_t index) const {
    return static_cast<int>(rank * files_.size() + index);
  }
  int response_column() const { return column(ranks(), 0); }
  double units(std::int64_t bytes) const { return static_cast<double>(bytes) / unit_; }

  double bytes_per_unit() const {
    std::int64_t unit = 0;
    std::int64_t largest = 0;
    for (int rank = 0; rank < ranks(); ++rank)
      for (const auto& cell : requests_.row(rank)) unit = std::gcd(unit, cell.bytes);
    for (const auto bytes : requests_.file_bytes()) largest = std::max(largest, bytes);
    return std::max(static_cast<double>(unit), static_cast<double>(largest) / largest_coefficient);
  }

  void add_columns() {
    const bool communication = options_.objective == Objective::communication;
    std::vector<double> costs(ranks() * files_.size(), 0);
    if (communication) set_communication_costs(costs);
    for (std::size_t i = 0; i < costs.size(); ++i)
      Cbc_addCol(model_.get(), ("x" + std::to_string(i)).c_str(), 0, 1, costs[i], 1, 0, nullptr,
                 nullptr);
    if (!communication)
      Cbc_addCol(model_.get(), "M", 0, std::numeric_limits<double>::max(), 1, 0, 0, nullptr,
                 nullptr);
  }

  /// Minus the worth of each pair, with a term for ties smaller than one unit of worth.
  void set_communication_costs(std::vector<double>& costs) const {
    const double n = static_cast<double>(requests_.files());
    const double p = ranks();
    const double tie_end = p * n * std::max(p, n) + 1;
    const bool ties = units(requests_.total_bytes()) * tie_end < largest_tied_objective;
    std::vector<int> index_of_file(requests_.files(), 0);
    for (std::size_t i = 0; i < files_.size(); ++i) index_of_file[files_[i]] = static_cast<int>(i);
    for (const auto& [rank, file, weight] : make_links(problem_, quotas_))
      costs[column(rank, index_of_file[file])] = -units(weight) * (ties ? tie_end : 1);
    if (!ties) return;
    for (int rank = 0; rank < ranks(); ++rank)
      for (std::size_t i = 0; i < files_.size(); ++i)
        costs[column(rank, i)] -= rank * (n - files_[i]);
  }

  void add_row(const Row& row, char sense, double bound) {
    const auto name = "c" + std::to_string(row_count_++);
    Cbc_addRow(model_.get(), name.c_str(), static_cast<int>(row.columns.size()), row.columns.data(),
               row.coefficients.data(), sense, bound);
  }

  void add_file_rows() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      Row row;
      for (int rank = 0; rank < ranks(); ++rank) row.add(column(rank, i), 1);
      add_row(row, 'E', quotas_.file_slots[files_[i]]);
    }
  }

  void add_balance_rows() {
    const bool by_bytes = problem_.balance == Balance::bytes && !quotas_.several_ranks_per_file;
    const double limit = by_bytes ? units(byte_limit(problem_)) : 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      Row row;
      for (std::size_t i = 0; i < files_.size(); ++i)
        row.add(column(rank, i), by_bytes ? units(requests_.file_bytes()[files_[i]]) : 1);
      if (by_bytes) {
        add_row(row, 'L', limit);
      } else if (quotas_.extra == 0) {
        add_row(row, 'E', quotas_.base);
      } else {
        add_row(row, 'L', quotas_.base + 1);
        add_row(row, 'G', quotas_.base);
      }
    }
  }

  std::int64_t asked_by_node(int rank, int file) const {
    std::int64_t bytes = 0;
    for (int other = 0; other < ranks(); ++other)
      if (problem_.node_of_rank[other] == problem_.node_of_rank[rank])
        bytes += requests_.at(other, file);
    return bytes;
  }

  /// What rank's own time gains when it owns the file: I/O, and bytes received less bytes it no
  /// longer sends.
  double own_time(int rank, int file) const {
    const double share = units(requests_.file_bytes()[file]) / quotas_.file_slots[file];
    const double asked = units(requests_.at(rank, file));
    double received_or_sent = std::abs(share - asked);
    if (has_topology(problem_))
      received_or_sent -=
          (1 - problem_.intra_node_cost) * (units(asked_by_node(rank, file)) - asked);
    return problem_.alpha * share + problem_.beta * (received_or_sent - asked);
  }

  /// time of rank <= M.
  void add_response_rows() {
    for (int rank = 0; rank < ranks(); ++rank) {
      Row row;
      row.add(response_column(), -1);
      for (std::size_t i = 0; i < files_.size(); ++i)
        row.add(column(rank, i), own_time(rank, files_[i]));
      if (has_topology(problem_)) add_cheap_sends(rank, row);
      add_row(row, 'L', -problem_.beta * units(requests_.rank_bytes()[rank]));
    }
  }

  /// What rank sends to an owner on its own node costs less.
  void add_cheap_sends(int rank, Row& row) const {
    for (int other = 0; other < ranks(); ++other) {
      if (other == rank || problem_.node_of_rank[other] != problem_.node_of_rank[rank]) continue;
      for (std::size_t i = 0; i < files_.size(); ++i)
        row.add(column(other, i), -problem_.beta * (1 - problem_.intra_node_cost) *
                                      units(requests_.at(rank, files_[i])));
    }
  }

  void set_start(const Assignment& start) {
    std::vector<int> columns;
    for (std::size_t i = 0; i < files_.size(); ++i)
      for (const int rank : start.owners[files_[i]]) columns.push_back(column(rank, i));
    const std::vector<double> ones(columns.size(), 1);
    Cbc_setMIPStartI(model_.get(), static_cast<int>(columns.size()), columns.data(), ones.data());
  }

  Assignment read(const double* solution) const {
    Assignment assignment;
    assignment.owners.resize(requests_.files());
    for (std::size_t i = 0; i < files_.size(); ++i)
      for (int rank = 0; rank < ranks(); ++rank)
        if (solution[column(rank, i)] > 0.5) assignment.owners[files_[i]].push_back(rank);
    return assignment;
  }

  const Problem& problem_;
  const RequestMatrix& requests_;
  ExactOptions options_;
  Quotas quotas_;
  Model model_;
  std::vector<int> files_;  // with data
  double unit_ = 1;
  int row_count_ = 0;
};

void check_exact(const Problem& problem, const ExactOptions& options) {
  validate(problem);
  const auto pairs = std::int64_t{problem.requests.ranks()} * problem.requests.files();
  if (pairs > max_exact_pairs)
    throw std::invalid_argument("exact assignment is for at most " +
                                std::to_string(max_exact_pairs) +
                                " pairs of ranks and files, not " + std::to_string(pairs));
  if (!(options.time_limit_s > 0)) throw std::invalid_argument("the time limit must be positive");
  if (options.objective == Objective::response && has_topology(problem) &&
      make_quotas(problem.requests).several_ranks_per_file)
    throw std::invalid_argument(
        "the exact response with several ranks per file cannot take a topology into account");
}

}  // namespace

bool exact_available() { return true; }

ExactResult assign_exact(const Problem& problem, const ExactOptions& options) {
  check_exact(problem, options);
  auto start = assign_matching(problem);
  if (problem.requests.total_bytes() == 0) return {std::move(start), true};
  return Program(problem, options).solve(start);
}

#endif

}  // namespace choir::multi
