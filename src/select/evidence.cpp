#include "select/evidence.hpp"

#include <algorithm>

#include "select/arithmetic.hpp"
#include "select/numbers.hpp"

namespace choir::select {
namespace {

constexpr double least_weight = 1.0 / 16;

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double Rival::count() const {
  double sum = 0;
  for (const auto& sample : samples) sum += sample.weight;
  return sum;
}

double Rival::middle() const {
  auto sorted = samples;
  std::sort(sorted.begin(), sorted.end(),
            [](const Sample& a, const Sample& b) { return a.ln_ratio < b.ln_ratio; });
  const double half = count() / 2;
  double below = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    below += sorted[i].weight;
    if (below > half) return sorted[i].ln_ratio;
    if (below == half && i + 1 < sorted.size())
      return (sorted[i].ln_ratio + sorted[i + 1].ln_ratio) / 2;
  }
  return sorted.empty() ? 0 : sorted.back().ln_ratio;
}

void Rival::add(Sample sample) {
  samples.push_back(sample);
  if (samples.size() > most_samples) samples.erase(samples.begin());
}

double Evidence::cost() const { return median(costs); }

const Rival* Evidence::rival(std::string_view name) const {
  for (const auto& one : rivals)
    if (one.name == name) return &one;
  return nullptr;
}

Rival& Evidence::rival_named(std::string_view name) {
  for (auto& one : rivals)
    if (one.name == name) return one;
  rivals.push_back({std::string(name), {}});
  return rivals.back();
}

void Evidence::compare(const Comparison& c) {
  if (c.name == c.against) return;
  if (c.against == serves) {
    rival_named(c.name).add({c.ln_ratio});
    reconsider(c.name);
  } else if (c.name == serves) {
    rival_named(c.against).add({-c.ln_ratio});
    reconsider(c.against);
  } else if (const auto* const known = rival(c.against); known != nullptr) {
    const double level = known->middle();
    rival_named(c.name).add({c.ln_ratio + level});
    reconsider(c.name);
  }
}

/// Two comparisons decide by their middle; a single one has to be clear.
void Evidence::reconsider(std::string_view name) {
  const auto& one = *rival(name);
  const double needed = one.count() >= 1.5 ? -numbers::margin : -ln(numbers::clear);
  if (one.middle() < needed) serve(name);
}

/// Everybody is now compared with `name`.
void Evidence::serve(std::string_view name) {
  const auto found = std::find_if(rivals.begin(), rivals.end(),
                                  [&](const Rival& one) { return one.name == name; });
  const double level = found->middle();
  Rival former{serves, found->samples};
  for (auto& sample : former.samples) sample.ln_ratio = -sample.ln_ratio;
  serves = found->name;
  rivals.erase(found);
  for (auto& one : rivals)
    for (auto& sample : one.samples) sample.ln_ratio -= level;
  rivals.push_back(std::move(former));
  costs = {cost() * exp(level)};
  last *= exp(level);
  pending = {};
}

void Evidence::age(double factor) {
  for (auto& one : rivals) {
    for (auto& sample : one.samples) sample.weight *= factor;
    std::erase_if(one.samples, [](const Sample& sample) { return sample.weight < least_weight; });
  }
  std::erase_if(rivals, [](const Rival& one) { return one.samples.empty(); });
}

}  // namespace choir::select
