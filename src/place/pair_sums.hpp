// pair_sums.hpp: a sparse symmetric matrix over pairs of ranks, being added up, and its compressed
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace choir::place {

/// How often two ranks (a < b) neighbour each other in a file, and how many bytes meet there.
struct PairSum {
  std::int32_t a = 0;
  std::int32_t b = 0;
  std::int64_t contacts = 0;
  std::int64_t bytes = 0;

  bool operator==(const PairSum&) const = default;
};

/// Adds are amortised constant; memory stays within twice the number of distinct pairs.
class PairSums {
 public:
  /// A rank is no neighbour of itself: equal ranks are ignored.
  void add(int a, int b, std::int64_t contacts, std::int64_t bytes);
  void add(const PairSums& other, std::int64_t times);
  /// Distinct pairs, ascending.
  const std::vector<PairSum>& sorted() const;
  bool empty() const { return pairs_.empty(); }

 private:
  void compact() const;

  mutable std::vector<PairSum> pairs_;
  mutable std::size_t compacted_ = 0;  ///< this many at the front are distinct and ascending
};

/// Compressed row storage of the whole symmetric matrix.
struct Crs {
  std::vector<std::int64_t> row_begin{0};
  std::vector<std::int32_t> column;
  std::vector<std::int64_t> contacts;
  std::vector<std::int64_t> bytes;

  int rows() const { return static_cast<int>(row_begin.size()) - 1; }
  std::int64_t contacts_at(int row, int col) const;
  std::int64_t bytes_at(int row, int col) const;
};

Crs compress(const PairSums& sums, int ranks);

}  // namespace choir::place
