// evidence.hpp: what is known of the strategies of one class of calls.
//
// What is kept are comparisons, not rates: the time of a look at a strategy against the calls just
// before and after it, which another strategy served. A slow phase of the machine hits all three
// and changes nothing. Who serves follows from the comparisons, so nothing serves for good because
// it won once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace choir::select {

/// One look: the logarithm of its time over that of its neighbours.
struct Sample {
  double ln_ratio = 0;
  double weight = 1;  ///< halves with age
};

/// A strategy that does not serve, against the one that does.
struct Rival {
  std::string name;
  std::vector<Sample> samples;  ///< oldest first

  double count() const;  ///< the weights' sum
  bool known() const { return count() >= 0.5; }
  double middle() const;  ///< the weighted median; 0 without samples
  /// The oldest goes when there are more than most_samples.
  void add(Sample sample);
};

/// "`name` took e^ln_ratio times as long as `against`."
struct Comparison {
  std::string name, against;
  double ln_ratio = 0;
};

/// A look that waits for the next call of who serves.
struct PendingLook {
  std::string name;  ///< empty: there is none
  double cost = 0;
  double before = 0;  ///< of who serves, in the call before
};

inline constexpr std::size_t most_costs = 8;
inline constexpr std::size_t most_samples = 9;

/// Costs are seconds per byte.
struct Evidence {
  std::string serves;         ///< empty: nobody has yet
  std::vector<double> costs;  ///< of who serves, its last calls, oldest first
  double last = 0;            ///< of who serves, in the call just before; 0: not known
  PendingLook pending;
  std::vector<Rival> rivals;
  double time_s = 0;  ///< of all calls
  double lost_s = 0;  ///< what looks cost beyond who served
  double calls = 0;
  double since_ageing = 0;  ///< calls since comparisons lost weight
  bool compared = false;    ///< nobody could be better any more
  double prepared_s = 0;    ///< what preparing mappings cost beyond who served
  std::int64_t date_s = 0;  ///< Unix time when it was stored

  double cost() const;  ///< the median of `costs`; 0 without
  const Rival* rival(std::string_view name) const;
  Rival& rival_named(std::string_view name);
  /// Takes note of a comparison; it may change who serves.
  void compare(const Comparison& comparison);
  /// The weights of what was learned long ago.
  void age(double factor);

 private:
  void serve(std::string_view name);
  void reconsider(std::string_view name);
};

double median(std::vector<double> values);

}  // namespace choir::select
