#include "costs.hpp"

#include <algorithm>

namespace choir::measure {
namespace {

/// No byte and no request is for nothing: below this a clock has measured its own steps.
constexpr double least_byte_s = 1e-12, least_request_s = 1e-9;
/// In a call by windows: opened, filled, and the call's own two.
constexpr double meetings_of_a_call = 4;

double time_of(const Sample& sample, Figure figure) {
  return lower_quartile(sample.seconds[static_cast<std::size_t>(figure)]);
}

class Reader {
 public:
  Reader(const std::vector<Sample>& samples, const std::array<Amount, figures>& amounts)
      : samples_(samples), amounts_(amounts) {}

  SharedCost byte(Figure figure) const {
    std::vector<UnitTime> times;
    for (const auto& sample : samples_)
      times.push_back({static_cast<double>(sample.members),
                       std::max(least_byte_s, time_of(sample, figure) / amount(figure).bytes)});
    return shared_cost(times);
  }

  /// Of two works, one with large requests and one with small ones.
  RequestCost request(Figure large, Figure small) const {
    std::vector<UnitTime> bytes, requests;
    const auto l = amount(large), s = amount(small);
    for (const auto& sample : samples_) {
      const auto members = static_cast<double>(sample.members);
      const double by_bytes = time_of(sample, large) / l.bytes;
      const double per_request = (time_of(sample, small) - by_bytes * s.bytes) /
                                 (s.requests - l.requests * s.bytes / l.bytes);
      requests.push_back({members, std::max(least_request_s, per_request)});
      bytes.push_back({members, std::max(least_byte_s, by_bytes - std::max(0.0, per_request) *
                                                                      l.requests / l.bytes)});
    }
    return {shared_cost(bytes), shared_cost(requests)};
  }

  Amount amount(Figure figure) const { return amounts_[static_cast<std::size_t>(figure)]; }

 private:
  const std::vector<Sample>& samples_;
  const std::array<Amount, figures>& amounts_;
};

}  // namespace

double lower_quartile(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Least squares of the relative error: t = together + divided / members.
SharedCost shared_cost(const std::vector<UnitTime>& times) {
  double weight = 0, x1 = 0, x2 = 0, y1 = 0, xy = 0;
  for (const auto& [members, seconds] : times) {
    const double w = 1 / (seconds * seconds), x = 1 / members;
    weight += w, x1 += w * x, x2 += w * x * x, y1 += w * seconds, xy += w * x * seconds;
  }
  const double determinant = weight * x2 - x1 * x1;
  if (times.size() < 2 || determinant <= 0) return {weight > 0 ? y1 / weight : 0, 0};
  SharedCost cost{(y1 * x2 - xy * x1) / determinant, (weight * xy - x1 * y1) / determinant};
  if (cost.together < 0) cost = {0, xy / x2};
  if (cost.together + cost.divided < 0) cost = {y1 / weight, 0};
  return cost;
}

MachineCosts costs_from(const std::vector<Sample>& samples,
                        const std::array<Amount, figures>& amounts) {
  const Reader reader(samples, amounts);
  MachineCosts costs;
  costs.measured = true;
  costs.copy = reader.byte(Figure::copy);
  costs.copy_cached = reader.byte(Figure::copy_cached);
  costs.write_new = reader.request(Figure::write_new, Figure::write_new_small);
  costs.write_again = reader.request(Figure::write_again, Figure::write_again_small);
  costs.write_cached = reader.byte(Figure::write_cached);
  costs.read = reader.request(Figure::read, Figure::read_small);
  costs.reserve = reader.request(Figure::reserve, Figure::reserve_small);
  costs.fault_new = reader.byte(Figure::fault_new);
  costs.fault_again = reader.byte(Figure::fault_again);
  costs.fault_read = reader.byte(Figure::fault_read);
  if (const auto& all = samples.back(); all.members > 1)
    costs.meeting = meetings_of_a_call * time_of(all, Figure::meeting) /
                    reader.amount(Figure::meeting).requests;
  return costs;
}

}  // namespace choir::measure
