// window_traffic.cpp: exchanges through windows: who sends how much to which aggregator.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "access/codec.hpp"
#include "model/counters.hpp"
#include "model/numbering.hpp"

namespace choir::model {
namespace {

/// Steps before counting goes over to evenly spread ranks.
constexpr std::int64_t step_budget = 20'000'000;
constexpr std::int64_t range_budget = 5'000'000;
constexpr std::int64_t described_messages = 100'000;
constexpr std::int64_t most_stages = 64;
constexpr std::int64_t pace_budget = 2'000'000;
constexpr std::int64_t described_relay_messages = 1000;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::int64_t periodic_bytes_below(const RankSummary& rank, std::int64_t offset) {
  const auto from_origin = offset - rank.low + rank.shape.skipped();
  return from_origin / rank.shape.stride() * rank.shape.length() +
         std::min(rank.shape.length(), from_origin % rank.shape.stride());
}

/// The shape covers what the rank asks for and nothing else, so no message is without data.
bool exact(const RankSummary& rank) {
  if (rank.shape.kind == Shape::Kind::span) return rank.bytes == rank.high - rank.low;
  if (rank.shape.kind == Shape::Kind::cells) return false;
  return rank.bytes == periodic_bytes_below(rank, rank.high) - periodic_bytes_below(rank, rank.low);
}

class WindowCounter {
 public:
  WindowCounter(const Plan& plan, const Call& call)
      : plan_(plan), c_(call), relays_(!plan.relay_of_node.empty()) {
    std::map<int, std::vector<std::size_t>> members;
    for (std::size_t a = 0; a < plan.aggregators.size(); ++a)
      members[plan.aggregators[a].group].push_back(a);
    for (auto& [group, list] : members) {
      std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
        return plan.aggregators[a].domain.offset < plan.aggregators[b].domain.offset;
      });
      groups_.emplace(group, Numbering(plan, std::move(list)));
    }
    into_.resize(at(c_.topology.nodes()));
    out_of_.resize(at(c_.topology.nodes()));
    index_local_windows();
    step_ = step_of_ranks();
  }

  Traffic count() {
    bytes();
    if (relays_)
      messages_of_relays();
    else
      messages_of_ranks();
    sum_up();
    pace();
    describe();
    cycles();
    return t_;
  }

 private:
  const Numbering* numbering_of(int rank) const {
    if (summary(rank).empty()) return nullptr;
    const auto found = groups_.find(plan_.group(rank));
    return found == groups_.end() ? nullptr : &found->second;
  }
  int node(int rank) const { return c_.topology.node_of(rank); }
  const RankSummary& summary(int rank) const { return c_.ranks[at(rank)]; }
  Access access(int rank) const { return c_.workload.access(rank, c_.number); }

  /// Where the aggregators of a node are in a group's numbering.
  struct Local {
    std::vector<Extent> windows;
    std::vector<Run> domains;
  };
  const Local& local(int group, int node) const {
    static const Local none;
    const auto found = local_.find(static_cast<std::int64_t>(group) << 32 | node);
    return found == local_.end() ? none : found->second;
  }
  void index_local_windows() {
    for (const auto& [group, numbering] : groups_)
      for (std::size_t i = 0; i < numbering.size(); ++i) {
        auto& here = local_[static_cast<std::int64_t>(group) << 32 | node(numbering.rank(i))];
        here.windows.push_back(numbering.windows(i));
        here.domains.push_back(numbering.domain(i));
      }
  }

  static std::int64_t outside(Extent range, const Local& local) {
    auto sum = range.size();
    for (const auto& windows : local.windows) sum -= intersect(range, windows).size();
    return sum;
  }

  // -- bytes

  /// Data that stays: what a rank has in the domains of its own node's aggregators.
  void bytes() {
    std::unordered_map<std::int64_t, std::int64_t> stays;  // per node, for its aggregators
    for (int rank = 0; rank < c_.topology.ranks(); ++rank) {
      if (numbering_of(rank) == nullptr) continue;
      const auto& here = local(plan_.group(rank), node(rank));
      std::int64_t inside = 0;
      if (!here.domains.empty()) {
        const auto mine = access(rank);
        for (const auto& domain : here.domains) inside += bytes_in(mine, domain);
      }
      t_.bytes_in_node += relays_ ? summary(rank).bytes : inside;
      out_of_[at(node(rank))] += summary(rank).bytes - inside;
      t_.bytes_between_nodes += summary(rank).bytes - inside;
      stays[node(rank)] += inside;
    }
    bytes_into_nodes(stays);
  }

  /// What an aggregator holds that is not its node's own has come from outside. Domains are cut so
  /// that all hold about equally many bytes, which is close enough for the busiest node.
  void bytes_into_nodes(const std::unordered_map<std::int64_t, std::int64_t>& stays) {
    std::unordered_map<int, double> bytes_of_group;
    for (int rank = 0; rank < c_.topology.ranks(); ++rank)
      bytes_of_group[plan_.group(rank)] += static_cast<double>(summary(rank).bytes);
    for (const auto& [group, numbering] : groups_) {
      double length = 0;
      for (std::size_t i = 0; i < numbering.size(); ++i)
        length += static_cast<double>(numbering.domain(i).bytes());
      for (std::size_t i = 0; i < numbering.size(); ++i)
        into_[at(node(numbering.rank(i)))] += static_cast<std::int64_t>(
            bytes_of_group[group] * static_cast<double>(numbering.domain(i).bytes()) / length);
    }
    for (const auto& [node, inside] : stays)
      into_[at(node)] = std::max<std::int64_t>(0, into_[at(node)] - inside);
  }

  // -- messages

  /// Every how many ranks must be looked at to stay within the budget, judged by a few of them.
  std::int64_t step_of_ranks() const {
    const std::int64_t ranks = c_.topology.ranks(), probes = std::min<std::int64_t>(ranks, 16);
    std::int64_t steps = 0;
    for (std::int64_t i = 0; i < probes; ++i) {
      const auto rank = static_cast<int>(i * ranks / probes);
      const auto* numbering = numbering_of(rank);
      if (numbering == nullptr) continue;
      steps += numbering->contributed(summary(rank), [](Extent) {});
      if (!exact(summary(rank))) steps += numbering->holding_bytes(access(rank), [](Extent) {});
    }
    const auto all = steps * ranks / std::max<std::int64_t>(1, probes);
    const auto budget = relays_ ? range_budget : step_budget;
    return std::max<std::int64_t>(1, (all + budget - 1) / budget);
  }

  std::int64_t scaled(std::int64_t sum, std::int64_t all, std::int64_t looked_at) {
    if (looked_at == all) return sum;
    t_.sampled = true;
    return static_cast<std::int64_t>(std::llround(
        static_cast<double>(sum) * static_cast<double>(all) / static_cast<double>(looked_at)));
  }

  void messages_of_ranks() {
    std::int64_t looked_at = 0;
    for (std::int64_t r = 0; r < c_.topology.ranks(); r += step_, ++looked_at) {
      const auto rank = static_cast<int>(r);
      const auto* numbering = numbering_of(rank);
      if (numbering == nullptr) continue;
      const auto& here = local(plan_.group(rank), node(rank));
      std::int64_t asked = 0;
      numbering->contributed(summary(rank), [&](Extent met) { asked += outside(met, here); });
      asked_ += asked;
      held_ += exact(summary(rank)) ? asked : held_by(rank, *numbering, here);
    }
    asked_ = scaled(asked_, c_.topology.ranks(), looked_at);
    held_ = scaled(held_, c_.topology.ranks(), looked_at);
  }

  /// Distinct windows on other nodes that hold bytes of a rank.
  std::int64_t held_by(int rank, const Numbering& numbering, const Local& here) const {
    WindowSet set;
    Extent last{-1, -1};
    numbering.holding_bytes(access(rank), [&](Extent range) {
      if (range != last) set.add(range);
      last = range;
    });
    set.merge();
    return set.count(here.windows);
  }

  /// A relay sends for a window as soon as one rank of its node contributes to it.
  void messages_of_relays() {
    const std::int64_t nodes = c_.topology.nodes(), step = std::min(nodes, step_);
    std::int64_t looked_at = 0;
    for (std::int64_t n = 0; n < nodes; n += step, ++looked_at)
      for (const auto& [group, numbering] : groups_) {
        const auto node = static_cast<int>(n);
        const auto& here = local(group, node);
        const auto asked = met_by_node(node, group, numbering).count(here.windows);
        asked_ += asked;
        held_ += all_exact(node, group) ? asked : held_by_node(node, group, numbering, here);
      }
    asked_ = scaled(asked_, nodes, looked_at);
    held_ = scaled(held_, nodes, looked_at);
  }

  template <class Visit>
  void visit_members(int node, int group, Visit&& visit) const {
    for (const int rank : c_.topology.ranks_of(node))
      if (!summary(rank).empty() && plan_.group(rank) == group) visit(rank);
  }

  WindowSet met_by_node(int node, int group, const Numbering& numbering) const {
    WindowSet set;
    visit_members(node, group, [&](int rank) {
      numbering.contributed(summary(rank), [&](Extent met) { set.add(met); });
    });
    set.merge();
    return set;
  }

  bool all_exact(int node, int group) const {
    bool all = true;
    visit_members(node, group, [&](int rank) { all = all && exact(summary(rank)); });
    return all;
  }

  std::int64_t held_by_node(int node, int group, const Numbering& numbering,
                            const Local& here) const {
    WindowSet set;
    visit_members(node, group, [&](int rank) {
      numbering.holding_bytes(access(rank), [&](Extent range) { set.add(range); });
    });
    set.merge();
    return set.count(here.windows);
  }

  void sum_up() {
    t_.messages_between_nodes = c_.writing ? asked_ : asked_ + held_;
    t_.empty_messages = c_.writing ? asked_ - held_ : asked_;
    for (std::size_t n = 0; n < into_.size(); ++n)
      t_.most_bytes_of_node = std::max({t_.most_bytes_of_node, into_[n], out_of_[n]});
    const auto nodes = std::max<std::int64_t>(1, static_cast<std::int64_t>(into_.size()));
    t_.most_messages_of_node = (t_.messages_between_nodes + nodes - 1) / nodes;
  }

  // -- pace

  /// Aggregators take their windows in file order and side by side, so at a time only those nodes
  /// send whose bytes lie there. Where a node's ranks have their own part of the file, links are
  /// used one after the other: what counts is the busiest node of each stage, summed over stages.
  void pace() {
    std::int64_t windows = 0;
    for (const auto& aggregator : plan_.aggregators) {
      if (aggregator.domain.count > 1 && aggregator.domain.length > plan_.cycle_bytes) return;
      windows = std::max(windows, window_count(aggregator.domain, plan_.cycle_bytes));
    }
    const auto stages = std::min(windows, most_stages);
    const auto aggregators = static_cast<std::int64_t>(plan_.aggregators.size());
    if (stages * aggregators * c_.topology.ranks() > pace_budget) return;
    std::vector<Access> accesses;
    accesses.reserve(static_cast<std::size_t>(c_.topology.ranks()));
    for (int rank = 0; rank < c_.topology.ranks(); ++rank) accesses.push_back(access(rank));
    std::int64_t paced = 0;
    for (std::int64_t stage = 0; stage < stages; ++stage)
      paced += busiest_in({stage * windows / stages, (stage + 1) * windows / stages}, accesses);
    t_.paced_bytes_of_node = paced;
  }

  /// Bytes that the busiest node sends or receives for these windows of all aggregators.
  std::int64_t busiest_in(Extent windows, const std::vector<Access>& accesses) const {
    std::vector<std::int64_t> in(into_.size()), out(into_.size());
    for (const auto& aggregator : plan_.aggregators) {
      const auto last =
          std::min(windows.end, window_count(aggregator.domain, plan_.cycle_bytes)) - 1;
      if (last < windows.begin) continue;
      const auto part =
          joined(window_of(aggregator.domain, plan_.cycle_bytes, windows.begin),
                 window_of(aggregator.domain, plan_.cycle_bytes, last), aggregator.domain);
      const auto home = at(node(aggregator.rank));
      for (int rank = 0; rank < c_.topology.ranks(); ++rank) {
        const auto from = at(node(rank));
        if (from == home || summary(rank).empty() || plan_.group(rank) != aggregator.group)
          continue;
        const auto bytes = bytes_in(accesses[at(rank)], part);
        out[from] += bytes;
        in[home] += bytes;
      }
    }
    return std::max(*std::max_element(in.begin(), in.end()),
                    *std::max_element(out.begin(), out.end()));
  }

  /// Everything of the domain from one window's begin to another's end.
  static Run joined(const Run& first, const Run& last, const Run& domain) {
    if (domain.count == 1) return {first.offset, last.end() - first.offset, 0, 1};
    const auto blocks = (last.block(last.count - 1) - first.offset) / domain.stride + 1;
    return {first.offset, domain.length, blocks > 1 ? domain.stride : 0, blocks};
  }

  // -- what messages carry besides data

  /// Descriptions as they would be encoded, of all messages if they are few, else of an even
  /// sample.
  void describe() {
    if (asked_ == 0) return;
    std::int64_t described = 0, bytes = 0;
    const auto one = [&](const Runs& runs) {
      bytes += described_bytes(runs);
      ++described;
    };
    if (relays_)
      describe_relays(one);
    else
      describe_ranks(one);
    if (described == 0) return;
    const auto mean = static_cast<double>(bytes) / static_cast<double>(described);
    t_.metadata_bytes =
        described == asked_ ? bytes : std::llround(mean * static_cast<double>(asked_));
    if (!c_.writing) t_.metadata_bytes += held_ * reply_overhead;
  }

  template <class One>
  void describe_ranks(One&& one) const {
    const bool all = asked_ <= described_messages;
    const int rank_step = all ? 1 : std::max(1, c_.topology.ranks() / 64);
    for (int rank = 0; rank < c_.topology.ranks(); rank += rank_step) {
      const auto* numbering = numbering_of(rank);
      if (numbering == nullptr) continue;
      const auto mine = access(rank);
      std::int64_t left = all ? INT64_MAX : 64;
      numbering->contributed(summary(rank), [&](Extent met) {
        const auto step = all ? 1 : std::max<std::int64_t>(1, met.size() / 64);
        for (auto w = met.begin; w < met.end && left > 0; w += step) {
          if (node(numbering->rank(numbering->owner(w))) == node(rank)) continue;
          one(runs_in(mine, numbering->window(w)));
          --left;
        }
      });
    }
  }

  /// A relay describes the stretches its node has in a window.
  template <class One>
  void describe_relays(One&& one) const {
    const bool all = asked_ <= described_relay_messages;
    const int node_step = all ? 1 : std::max(1, c_.topology.nodes() / 8);
    for (int n = 0; n < c_.topology.nodes(); n += node_step)
      for (const auto& [group, numbering] : groups_) {
        const auto set = met_by_node(n, group, numbering);
        std::int64_t left = all ? INT64_MAX : 8;
        for (const auto& range : set.ranges()) {
          const auto step = all ? 1 : std::max<std::int64_t>(1, range.size() / 8);
          for (auto w = range.begin; w < range.end && left > 0; w += step) {
            if (node(numbering.rank(numbering.owner(w))) == n) continue;
            one(stretches(n, group, numbering.window(w)));
            --left;
          }
        }
      }
  }

  Runs stretches(int n, int group, const Run& window) const {
    std::vector<Extent> blocks;
    visit_members(n, group, [&](int rank) {
      for (const auto& run : runs_in(access(rank), window))
        for (std::int64_t i = 0; i < run.count; ++i)
          blocks.push_back({run.block(i), run.block(i) + run.length});
    });
    std::sort(blocks.begin(), blocks.end(), [](Extent a, Extent b) { return a.begin < b.begin; });
    Runs merged;
    for (std::size_t i = 0; i < blocks.size();) {
      auto stretch = blocks[i];
      for (++i; i < blocks.size() && blocks[i].begin <= stretch.end; ++i)
        stretch.end = std::max(stretch.end, blocks[i].end);
      append(merged, {stretch.begin, stretch.size(), 0, 1});
    }
    return merged;
  }

  // -- cycles

  /// Windows that anybody contributes to. Ranks that together fill their common span leave none
  /// out; of more than the budget allows only the spans are looked at.
  void cycles() {
    struct Group {
      Extent hull{INT64_MAX, 0};
      std::int64_t asked = 0;
      std::vector<int> ranks;
    };
    std::unordered_map<int, Group> found;
    for (int rank = 0; rank < c_.topology.ranks(); ++rank) {
      if (numbering_of(rank) == nullptr) continue;
      auto& one = found[plan_.group(rank)];
      one.hull = {std::min(one.hull.begin, summary(rank).low),
                  std::max(one.hull.end, summary(rank).high)};
      one.asked += summary(rank).bytes;
      one.ranks.push_back(rank);
    }
    for (const auto& [group, one] : found) {
      const auto& numbering = groups_.at(group);
      WindowSet set;
      if (one.asked == one.hull.size())
        numbering.holding(one.hull, [&](Extent range) { set.add(range); });
      else
        add_contributed(one.ranks, numbering, set);
      set.merge();
      t_.cycles += set.count({});
    }
    if (relays_) t_.cycles += asked_;
  }

  void add_contributed(const std::vector<int>& ranks, const Numbering& numbering,
                       WindowSet& set) const {
    std::size_t merged = 0;
    for (const int rank : ranks) {
      const auto add = [&](Extent range) { set.add(range); };
      if (step_ > 1)
        numbering.holding(summary(rank).span(), add);
      else
        numbering.contributed(summary(rank), add);
      if (set.size() < 2 * merged + 100'000) continue;
      set.merge();
      merged = set.size();
    }
  }

  const Plan& plan_;
  const Call& c_;
  bool relays_;
  std::map<int, Numbering> groups_;
  std::unordered_map<std::int64_t, Local> local_;
  std::vector<std::int64_t> into_, out_of_;
  std::int64_t step_ = 1;   ///< every how many ranks (or nodes) are looked at
  std::int64_t asked_ = 0;  ///< messages of ranks (or relays) to aggregators
  std::int64_t held_ = 0;   ///< of those, with bytes in their window
  Traffic t_;
};

}  // namespace

Traffic count_windows(const Plan& plan, const Call& call) {
  return WindowCounter(plan, call).count();
}

}  // namespace choir::model
