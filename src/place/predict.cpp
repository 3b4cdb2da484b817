#include "place/predict.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "plan/strategy.hpp"

namespace choir::place {

namespace {

/// Placements whose bytes differ by no more than this part of all bytes are equally good: where
/// ranges of the file happen to be cut moves that much.
constexpr double as_good = 0.01;

std::vector<RankSummary> summaries(const Pattern& pattern) {
  std::vector<RankSummary> result(static_cast<std::size_t>(pattern.runs.ranks()));
  for (int rank = 0; rank < pattern.runs.ranks(); ++rank) {
    auto& summary = result[static_cast<std::size_t>(rank)];
    for (const auto& run : pattern.runs.of(rank)) {
      summary.low = summary.bytes == 0 ? run.offset : std::min(summary.low, run.offset);
      summary.high = std::max(summary.high, end_of(run));
      summary.bytes += run.length * run.count;
    }
  }
  return result;
}

/// Bytes of `run` in a domain of many blocks; beyond some blocks a sample of them has to do.
double bytes_in_blocks(const AccessRun& run, const Run& domain) {
  constexpr std::int64_t most_blocks = 2048;
  const auto first =
      std::clamp<std::int64_t>((run.offset - domain.offset) / domain.stride, 0, domain.count);
  const auto last = std::clamp<std::int64_t>((end_of(run) - domain.offset) / domain.stride + 1,
                                             first, domain.count);
  const auto step = (last - first) / most_blocks + 1;
  double sum = 0;
  for (auto block = first; block < last; block += step)
    sum += static_cast<double>(
        bytes_between(run, domain.block(block), domain.block(block) + domain.length));
  return sum * static_cast<double>(step);
}

/// Who receives which bytes under a plan.
class Receivers {
 public:
  explicit Receivers(const Plan& plan) : plan_(plan) {
    for (std::size_t i = 0; i < plan.aggregators.size(); ++i) {
      const auto group = static_cast<std::size_t>(plan.aggregators[i].group);
      if (group >= of_group_.size()) of_group_.resize(group + 1);
      of_group_[group].push_back(&plan.aggregators[i]);
    }
    for (auto& group : of_group_)
      std::sort(group.begin(), group.end(), [](const Aggregator* a, const Aggregator* b) {
        return a->domain.offset < b->domain.offset;
      });
  }

  /// visit(aggregator's rank, bytes)
  template <class Visit>
  void each(int rank, const AccessRun& run, Visit&& visit) const {
    if (plan_.exchange == Exchange::slots) {
      const auto writer = plan_.writer_of[static_cast<std::size_t>(rank)];
      if (writer >= 0)
        visit(plan_.aggregators[static_cast<std::size_t>(writer)].rank,
              static_cast<double>(run.length * run.count));
      return;
    }
    const auto& group = of_group_.at(static_cast<std::size_t>(plan_.group(rank)));
    auto at = group.begin();
    if (contiguous(group))
      at = std::upper_bound(
          group.begin(), group.end(), run.offset,
          [](std::int64_t offset, const Aggregator* a) { return offset < a->domain.end(); });
    for (; at != group.end() && (*at)->domain.offset < end_of(run); ++at) {
      const auto& domain = (*at)->domain;
      const double bytes = domain.count > 1
                               ? bytes_in_blocks(run, domain)
                               : static_cast<double>(bytes_between(run, domain.offset,
                                                                   domain.offset + domain.length));
      if (bytes > 0) visit((*at)->rank, bytes);
    }
  }

 private:
  static bool contiguous(const std::vector<const Aggregator*>& group) {
    return group.empty() || group.front()->domain.count == 1;
  }

  const Plan& plan_;
  std::vector<std::vector<const Aggregator*>> of_group_;
};

struct Links {
  std::vector<double> in, out;
  double between = 0;
};

void add_pattern_traffic(const Pattern& pattern, const Plan& plan, const std::vector<int>& node_of,
                         Links& links) {
  if (plan.exchange != Exchange::windows && plan.exchange != Exchange::slots) return;
  const Receivers receivers(plan);
  const auto times = static_cast<double>(pattern.times);
  for (int rank = 0; rank < pattern.runs.ranks(); ++rank) {
    const auto home = static_cast<std::size_t>(node_of[static_cast<std::size_t>(rank)]);
    for (const auto& run : pattern.runs.of(rank))
      receivers.each(rank, run, [&](int aggregator, double bytes) {
        const auto there = static_cast<std::size_t>(node_of[static_cast<std::size_t>(aggregator)]);
        if (there == home) return;
        links.between += bytes * times;
        links.out[home] += bytes * times;
        links.in[there] += bytes * times;
      });
  }
}

int seats(const Machine& machine, const Parameters& parameters) {
  if (parameters.aggregators_per_node > 0) return parameters.aggregators_per_node;
  return std::min(4, machine.nodes.front().cores);
}

const Strategy& row(const StrategyTable& table, const std::string& name) {
  const auto found = table.find(name);
  if (!found) {
    std::string known;
    for (const auto& strategy : table.rows()) known += " " + strategy.name;
    throw std::invalid_argument("unknown strategy '" + name + "'; known:" + known);
  }
  return table.rows()[static_cast<std::size_t>(*found)];
}

}  // namespace

std::vector<std::string> predictable_strategies(const PredictOptions& options) {
  const StrategyTable table;
  std::vector<std::string> names;
  for (const auto& strategy : table.rows()) {
    if (strategy.name == "native" || strategy.name == "mapped") continue;
    if (strategy.name == "disk_first" && options.parameters.stripe_servers < 1) continue;
    names.push_back(strategy.name);
  }
  return names;
}

Traffic predict(const Recording& recording, const Machine& machine, const std::vector<int>& node_of,
                const std::string& strategy, const PredictOptions& options) {
  if (recording.patterns.empty())
    throw std::invalid_argument("the recording has no collective call to predict the traffic of");
  const StrategyTable table;
  const auto& chosen = row(table, strategy);
  const Topology topology(node_of, machine.nodes.front().cores);
  const auto nodes = static_cast<std::size_t>(machine.size());
  Links links{std::vector<double>(nodes), std::vector<double>(nodes)};
  double kept = 0;
  for (const auto& pattern : recording.patterns) {
    const auto ranks = summaries(pattern);
    const PlanInput input{topology, ranks, options.parameters, seats(machine, options.parameters)};
    add_pattern_traffic(pattern, chosen.plan(input), node_of, links);
    kept += static_cast<double>(pattern.bytes) * static_cast<double>(pattern.times);
  }
  const double scale = std::max(1.0, static_cast<double>(recording.bytes) / kept);
  Traffic traffic{links.between * scale, 0, kept * scale};
  for (std::size_t node = 0; node < nodes; ++node)
    traffic.busiest_node =
        std::max({traffic.busiest_node, links.in[node] * scale, links.out[node] * scale});
  return traffic;
}

Choice choose(const std::vector<Choice>& candidates, const Problem& problem,
              const std::string& strategy, const PredictOptions& options) {
  if (candidates.empty()) throw std::invalid_argument("no placement to choose from");
  std::vector<double> bytes(candidates.size());
  double all = 0;
  if (!problem.recording.patterns.empty())
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto traffic = predict(problem.recording, problem.machine,
                                   candidates[i].placement.node_of, strategy, options);
      bytes[i] = traffic.between_nodes;
      all = traffic.all;
    }
  const double enough = *std::min_element(bytes.begin(), bytes.end()) + as_good * all;
  const Choice* best = nullptr;
  double least = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (bytes[i] > enough) continue;
    const double cut = cut_weight(problem.graph, candidates[i].placement.node_of);
    if (best != nullptr && cut >= least) continue;
    best = &candidates[i];
    least = cut;
  }
  return *best;
}

}  // namespace choir::place
