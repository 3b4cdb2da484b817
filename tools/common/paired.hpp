// paired.hpp: is one way of doing the same work faster than another? From pairs of times taken next
// to each other.
//
// Pure. The centre of the ratios is that of Hodges and Lehmann, its interval that of Wilcoxon's
// signed ranks: neither asks how the times are distributed, and one wild pair moves them little.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace choir::tools {

/// Seconds of the same work done both ways, one right after the other.
struct Pair {
  double native_s = 0;
  double choir_s = 0;
};

/// native / choir: above 1, choir is faster.
struct Ratio {
  double estimate = 1;
  double low = 0;  ///< 0 and infinity: the pairs are too few to bound it
  double high = 0;
  std::size_t pairs = 0;
};

/// Chance that an interval misses the true ratio. It is looked at up to four times
/// (`looks`), so that all of them together err in at most one comparison of 25.
inline constexpr double kError = 0.01;
/// After how many pairs an answer is looked for. With fewer than 8 no interval of this error
/// exists; with 26 the interval is 0.4 times as wide as with 8.
inline constexpr std::size_t kLooks[] = {8, 12, 18, 26};
/// Ratios from 1 / kEqual to kEqual are nothing a user would notice.
inline constexpr double kEqual = 1.05;

/// Pairs with a time that is not above 0 are left out.
Ratio ratio_of(const std::vector<Pair>& pairs, double error = kError);

enum class Verdict { faster, equal, slower, unclear };

/// What the interval allows to say.
Verdict judge(const Ratio& ratio);
std::string_view name_of(Verdict verdict);

/// True if after this many pairs the answer may be looked for.
bool is_look(std::size_t pairs);

/// Linear between the two nearest of the sorted values; part in [0, 1]. 0 of nothing.
double quantile(std::vector<double> values, double part);
double median(const std::vector<double>& values);
/// Distance of the quartiles, relative to the median.
double spread(const std::vector<double>& values);
/// exp of the mean logarithm; 0 of nothing.
double geometric_mean(const std::vector<double>& values);

/// Why the answer is unclear: "the native times scatter by 40 %, ...", from what was measured.
/// `others_share`: part of the processors that other programs used meanwhile; below 0: unknown.
std::string why_unclear(const std::vector<Pair>& pairs, double others_share);

}  // namespace choir::tools
