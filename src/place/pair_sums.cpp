#include "place/pair_sums.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace choir::place {

namespace {

bool before(const PairSum& x, const PairSum& y) { return std::tie(x.a, x.b) < std::tie(y.a, y.b); }

std::int64_t find(const Crs& matrix, int row, int col, const std::vector<std::int64_t>& values) {
  const auto begin = matrix.column.begin() + matrix.row_begin[static_cast<std::size_t>(row)];
  const auto end = matrix.column.begin() + matrix.row_begin[static_cast<std::size_t>(row) + 1];
  const auto at = std::lower_bound(begin, end, col);
  if (at == end || *at != col) return 0;
  return values[static_cast<std::size_t>(at - matrix.column.begin())];
}

}  // namespace

void PairSums::add(int a, int b, std::int64_t contacts, std::int64_t bytes) {
  if (a == b || contacts == 0) return;
  if (pairs_.size() >= 2 * compacted_ + 1024) compact();
  pairs_.push_back({std::min(a, b), std::max(a, b), contacts, bytes});
}

void PairSums::add(const PairSums& other, std::int64_t times) {
  for (const auto& pair : other.sorted())
    add(pair.a, pair.b, pair.contacts * times, pair.bytes * times);
}

const std::vector<PairSum>& PairSums::sorted() const {
  compact();
  return pairs_;
}

void PairSums::compact() const {
  if (compacted_ == pairs_.size()) return;
  const auto middle = pairs_.begin() + static_cast<std::ptrdiff_t>(compacted_);
  std::sort(middle, pairs_.end(), before);
  std::inplace_merge(pairs_.begin(), middle, pairs_.end(), before);
  std::size_t last = 0;
  for (std::size_t i = 1; i < pairs_.size(); ++i) {
    if (pairs_[i].a == pairs_[last].a && pairs_[i].b == pairs_[last].b) {
      pairs_[last].contacts += pairs_[i].contacts;
      pairs_[last].bytes += pairs_[i].bytes;
    } else {
      pairs_[++last] = pairs_[i];
    }
  }
  pairs_.resize(last + 1);
  compacted_ = pairs_.size();
}

std::int64_t Crs::contacts_at(int row, int col) const { return find(*this, row, col, contacts); }
std::int64_t Crs::bytes_at(int row, int col) const { return find(*this, row, col, bytes); }

Crs compress(const PairSums& sums, int ranks) {
  const auto& pairs = sums.sorted();
  Crs matrix;
  matrix.row_begin.assign(static_cast<std::size_t>(ranks) + 1, 0);
  for (const auto& pair : pairs) {
    ++matrix.row_begin[static_cast<std::size_t>(pair.a) + 1];
    ++matrix.row_begin[static_cast<std::size_t>(pair.b) + 1];
  }
  for (std::size_t row = 1; row < matrix.row_begin.size(); ++row)
    matrix.row_begin[row] += matrix.row_begin[row - 1];
  const auto entries = static_cast<std::size_t>(matrix.row_begin.back());
  matrix.column.resize(entries);
  matrix.contacts.resize(entries);
  matrix.bytes.resize(entries);
  auto next = matrix.row_begin;
  const auto put = [&](int row, int col, const PairSum& pair) {
    const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++);
    matrix.column[at] = col;
    matrix.contacts[at] = pair.contacts;
    matrix.bytes[at] = pair.bytes;
  };
  // Pairs ascend by (a, b): first the lower halves of all rows, then the upper ones, so columns
  // ascend.
  for (const auto& pair : pairs) put(pair.b, pair.a, pair);
  for (const auto& pair : pairs) put(pair.a, pair.b, pair);
  return matrix;
}

}  // namespace choir::place
