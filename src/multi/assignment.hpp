// assignment.hpp: which ranks do the I/O of which files in one multi-collective call.
//
// Pure: no MPI, clock or globals. Equal input gives an equal assignment on every rank, so that
// assignments are never exchanged.
//
// The problem of "Exploiting Inter-File Access Patterns Using Multi-Collective I/O" (Memik,
// Kandemir, Choudhary): rank i asks r[i][j] bytes of file j. At least as many files as ranks: each
// file gets one owner, and each rank the same number of files. More ranks than files: each rank
// serves one file, and file j gets F_j owners that share it evenly. A file nobody asks for has no
// owner and takes nobody's place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace choir::multi {

/// Rank `rank` asks for `bytes` bytes of file `file`.
struct Request {
  int rank = 0;
  int file = 0;
  std::int64_t bytes = 0;

  bool operator==(const Request&) const = default;
};

/// The matrix r[i][j], of which only the nonzero cells are stored, row by row.
class RequestMatrix {
 public:
  struct Cell {
    int file = 0;
    std::int64_t bytes = 0;

    bool operator==(const Cell&) const = default;
  };

  RequestMatrix() = default;

  /// Requests in any order; those of one cell are added up. Throws std::invalid_argument for a
  /// rank or file outside the matrix, a negative size or a sum that leaves 62 bits.
  static RequestMatrix from_entries(int ranks, int files, std::span<const Request> requests);

  /// ranks x files sizes, row by row.
  static RequestMatrix from_dense(int ranks, int files, std::span<const std::int64_t> row_major);

  int ranks() const { return static_cast<int>(rank_bytes_.size()); }
  int files() const { return static_cast<int>(file_bytes_.size()); }

  /// The nonzero cells of a rank, by ascending file.
  std::span<const Cell> row(int rank) const;
  std::int64_t at(int rank, int file) const;
  std::int64_t cells() const { return static_cast<std::int64_t>(cells_.size()); }

  const std::vector<std::int64_t>& rank_bytes() const { return rank_bytes_; }
  const std::vector<std::int64_t>& file_bytes() const { return file_bytes_; }
  std::int64_t total_bytes() const { return total_bytes_; }

 private:
  std::vector<std::size_t> row_begin_{0};
  std::vector<Cell> cells_;
  std::vector<std::int64_t> rank_bytes_;
  std::vector<std::int64_t> file_bytes_;
  std::int64_t total_bytes_ = 0;
};

/// What "homogeneous" means when there are at least as many files as ranks.
enum class Balance {
  files,  ///< every rank has floor(n/p) or ceil(n/p) files (the paper's sum of x[i][j] = n/p)
  bytes,  ///< no rank does more than byte_limit() bytes of I/O (the paper's bound P)
};

struct Problem {
  RequestMatrix requests;
  double alpha = 1;  ///< cost of a byte of I/O
  double beta = 1;   ///< cost of a byte moved between nodes
  /// Node of each rank; empty: every rank is a node of its own, as in the paper.
  std::vector<int> node_of_rank = {};
  /// Cost of a byte moved inside a node, as a fraction of one moved between nodes.
  double intra_node_cost = 1;
  Balance balance = Balance::files;
  /// Balance::bytes: how much above the average load a rank may go, 0.1 = 10 %.
  double slack = 0;
};

/// Throws std::invalid_argument that says what is wrong.
void validate(const Problem& problem);

/// True if a move inside a node is cheaper than one between nodes.
bool has_topology(const Problem& problem);

struct Assignment {
  /// owners[j]: ascending ranks that do the I/O of file j; empty for a file nobody asks for.
  std::vector<std::vector<int>> owners;

  bool operator==(const Assignment&) const = default;
};

/// How many partners each side of the matching takes. Slots and quotas add up to the same sum.
struct Quotas {
  bool several_ranks_per_file = false;  ///< more ranks than files with data
  std::vector<int> file_slots;          ///< owners of each file: the paper's F_j
  int base = 0;                         ///< files of every rank ...
  int extra = 0;                        ///< ... and one more on this many ranks
};

/// F_j in proportion to the bytes of the files, at least 1, rounded such that the largest share
/// of an owner is as small as it can be.
Quotas make_quotas(const RequestMatrix& requests);

/// Files put into one bin per rank, each next largest file into the least loaded bin.
std::vector<std::vector<int>> longest_first_bins(const RequestMatrix& requests);

/// Balance::bytes: the bound on a rank's I/O. (1 + slack) x the average, raised to what
/// longest_first_bins reaches where that is higher, so that the bound can always be kept.
std::int64_t byte_limit(const Problem& problem);

}  // namespace choir::multi
