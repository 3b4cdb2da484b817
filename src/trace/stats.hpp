// stats.hpp: the sums of an open file, and the compact table that CHOIR_STATS=1 prints at close.
//
// Local. Every rank adds its own calls; as all calls are collective, all ranks know the same
// signatures, and their numbers can be combined by one sum and one maximum over flat arrays.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "select/evidence.hpp"
#include "trace/left.hpp"
#include "trace/record.hpp"

namespace choir::trace {

/// What the calls of one signature did.
struct SignatureTotals {
  std::string operation;
  std::string pattern;   ///< the class
  std::string strategy;  ///< of the latest call
  std::string phase;
  std::string reason;
  std::int64_t calls = 0;
  std::int64_t cached_plans = 0;
  std::int64_t errors = 0;
  std::int64_t cycles = 0;  ///< the most of any rank
  std::int64_t bytes = 0;
  std::int64_t pieces = 0;
  std::int64_t bytes_inside = 0;
  std::int64_t bytes_between = 0;
  std::int64_t bytes_sieved = 0;
  std::int64_t storage_requests = 0;
  std::int64_t storage_bytes = 0;
  Times seconds;  ///< after `set_maxima`: of the slowest rank, each phase by itself
};

class Totals {
 public:
  void add(const CallRecord& record);
  void add_left(Left reason) { ++left_[static_cast<std::size_t>(reason)]; }
  bool empty() const { return signatures_.empty() && left_ == LeftCounts{}; }
  /// Calls left to the MPI library, of the rank that left most.
  LeftCounts& left() { return left_; }
  const LeftCounts& left() const { return left_; }
  const std::map<std::uint64_t, SignatureTotals>& signatures() const { return signatures_; }

  /// What is to be added over the ranks (bytes, pieces, ...), in signature order.
  std::vector<double> sums() const;
  void set_sums(std::span<const double> combined);
  /// What is to be compared over the ranks (seconds, cycles).
  std::vector<double> maxima() const;
  void set_maxima(std::span<const double> combined);

 private:
  std::map<std::uint64_t, SignatureTotals> signatures_;
  LeftCounts left_{};
};

struct StatsHeader {
  std::string file;
  int ranks = 0;
  int nodes = 0;  ///< 0: not known, as choir leaves the whole file to the MPI library
  std::vector<std::pair<std::string, std::string>> hints;  ///< in force
};

/// What is known of the strategies, by signature.
using KnownClasses = std::map<std::uint64_t, select::Evidence>;

/// The table, ready for stderr.
std::string stats_table(const StatsHeader& header, const Totals& totals, const KnownClasses& known);

/// 1536 as "1.5 KiB".
std::string human_bytes(double bytes);
/// 0.0123 as "12.3 ms".
std::string human_seconds(double seconds);

}  // namespace choir::trace
