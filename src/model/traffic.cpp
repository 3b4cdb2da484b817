#include "model/traffic.hpp"

#include <cmath>
#include <map>
#include <unordered_map>

#include "access/codec.hpp"
#include "model/overlap.hpp"

namespace choir::model {
namespace {

constexpr std::int64_t header_bytes = 16;
constexpr std::int64_t empty_description = 1;
constexpr std::int64_t ballot_bytes = 64;
/// Blocks walked, or ranges sorted, before counting goes over to evenly spread ranks.
constexpr std::int64_t walk_budget = 20'000'000;
constexpr std::int64_t range_budget = 5'000'000;
constexpr std::int64_t described_messages = 100'000;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// The windows of one group's aggregators under one numbering: aggregator i has [first[i], first[i
/// + 1]).
class Numbering {
 public:
  Numbering(const Plan& plan, std::vector<std::size_t> members)
      : plan_(plan), members_(std::move(members)) {
    first_.push_back(0);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const auto& run = domain(i);
      first_.push_back(first_.back() + window_count(run, plan.cycle_bytes));
      ascending_ = ascending_ && run.count == 1 && (i == 0 || domain(i - 1).end() <= run.offset);
      // The very last window always holds the last byte of whoever reaches it, so its size does not
      // matter.
      shortest_ = std::min({shortest_, run.length, plan.cycle_bytes});
      const auto tail = run.length % plan.cycle_bytes;
      if ((i + 1 < members_.size() || run.count > 1) && tail > 0)
        shortest_ = std::min(shortest_, tail);
    }
  }

  std::size_t size() const { return members_.size(); }
  const Run& domain(std::size_t i) const { return plan_.aggregators[members_[i]].domain; }
  int rank(std::size_t i) const { return plan_.aggregators[members_[i]].rank; }
  Extent windows(std::size_t i) const { return {first_[i], first_[i + 1]}; }
  std::int64_t shortest_window() const { return shortest_; }
  std::int64_t cycle_bytes() const { return plan_.cycle_bytes; }
  /// The aggregator a window number belongs to, and the window.
  std::size_t owner(std::int64_t number) const {
    return at(std::upper_bound(first_.begin(), first_.end(), number) - first_.begin()) - 1;
  }
  Run window(std::int64_t number) const {
    const auto i = owner(number);
    return window_of(domain(i), cycle_bytes(), number - first_[i]);
  }
  /// One range of the file after the other: the numbering ascends with the file.
  bool ascending() const { return ascending_; }

  /// Visits the windows whose span meets `range` (or, if `holding`, that hold bytes of it), as
  /// ranges of numbers.
  template <class Visit>
  void meeting(Extent range, bool holding, Visit&& visit) const {
    if (range.empty() || members_.empty()) return;
    std::size_t i = 0;
    if (ascending_) {
      std::size_t high = size();
      while (i < high) {
        const auto middle = i + (high - i) / 2;
        if (domain(middle).end() <= range.begin)
          i = middle + 1;
        else
          high = middle;
      }
    }
    if (ascending_ && i < size()) {
      // Domains may have gaps between them but windows do not: one range of numbers from first to
      // last.
      std::size_t last = i, high = size();
      while (last < high) {
        const auto middle = last + (high - last) / 2;
        if (domain(middle).offset < range.end)
          last = middle + 1;
        else
          high = middle;
      }
      if (last == i) return;
      const auto begin = first_[i] + windows_ended(domain(i), cycle_bytes(), range.begin);
      const auto end = first_[last - 1] + windows_begun(domain(last - 1), cycle_bytes(), range.end);
      if (begin < end) visit(Extent{begin, end});
      return;
    }
    for (; i < size(); ++i) {
      const auto& run = domain(i);
      Extent met = holding ? windows_holding(run, cycle_bytes(), range)
                           : Extent{windows_ended(run, cycle_bytes(), range.begin),
                                    windows_begun(run, cycle_bytes(), range.end)};
      if (!met.empty()) visit(Extent{first_[i] + met.begin, first_[i] + met.end});
    }
  }

 private:
  const Plan& plan_;
  std::vector<std::size_t> members_;
  std::vector<std::int64_t> first_;
  std::int64_t shortest_ = INT64_MAX;
  bool ascending_ = true;
};

/// Sorted, merged ranges of window numbers.
class WindowSet {
 public:
  void add(Extent range) { ranges_.push_back(range); }
  std::size_t size() const { return ranges_.size(); }
  const std::vector<Extent>& ranges() const { return ranges_; }

  void merge() {
    std::sort(ranges_.begin(), ranges_.end(), [](Extent a, Extent b) { return a.begin < b.begin; });
    std::size_t kept = 0;
    for (const auto& range : ranges_) {
      if (kept > 0 && range.begin <= ranges_[kept - 1].end)
        ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, range.end);
      else
        ranges_[kept++] = range;
    }
    ranges_.resize(kept);
  }

  /// Windows of the set outside the `without` ranges; the set is merged.
  std::int64_t count(std::span<const Extent> without) const {
    std::int64_t sum = 0;
    for (const auto& range : ranges_) sum += range.size();
    for (const auto& hole : without)
      for (const auto& range : ranges_) sum -= intersect(range, hole).size();
    return sum;
  }

 private:
  std::vector<Extent> ranges_;
};

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
  }

  Traffic count() {
    bytes();
    if (relays_)
      messages_of_relays();
    else
      messages_of_ranks();
    if (!c_.writing || !relays_) holding();
    sum_up();
    describe();
    cycles();
    return t_;
  }

 private:
  const Numbering* numbering_of(int rank) const {
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

  /// Data that stays: what a rank has in the domains of its own node's aggregators.
  void bytes() {
    std::unordered_map<std::int64_t, std::int64_t> stays;  // per node, for its aggregators
    for (int rank = 0; rank < c_.topology.ranks(); ++rank) {
      if (summary(rank).empty() || numbering_of(rank) == nullptr) continue;
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
    for (const auto& [group, numbering] : groups_) {
      double length = 0, bytes = 0;
      for (std::size_t i = 0; i < numbering.size(); ++i)
        length += static_cast<double>(numbering.domain(i).bytes());
      bytes = group_bytes(group);
      for (std::size_t i = 0; i < numbering.size(); ++i)
        into_[at(node(numbering.rank(i)))] += static_cast<std::int64_t>(
            bytes * static_cast<double>(numbering.domain(i).bytes()) / length);
    }
    for (const auto& [node, inside] : stays)
      into_[at(node)] = std::max<std::int64_t>(0, into_[at(node)] - inside);
  }

  double group_bytes(int group) {
    if (bytes_of_group_.empty())
      for (int rank = 0; rank < c_.topology.ranks(); ++rank)
        bytes_of_group_[plan_.group(rank)] += static_cast<double>(summary(rank).bytes);
    return bytes_of_group_[group];
  }

  void messages_of_ranks() {
    for (int rank = 0; rank < c_.topology.ranks(); ++rank) {
      const auto* numbering = numbering_of(rank);
      if (summary(rank).empty() || numbering == nullptr) continue;
      const auto& here = local(plan_.group(rank), node(rank));
      numbering->meeting(summary(rank).span(), false,
                         [&](Extent met) { asked_ += outside(met, here); });
    }
  }

  /// A relay sends for a window as soon as one rank of its node meets it.
  void messages_of_relays() {
    for (int n = 0; n < c_.topology.nodes(); ++n)
      for (const auto& [group, numbering] : groups_) {
        WindowSet set;
        for (const int rank : c_.topology.ranks_of(n))
          if (!summary(rank).empty() && plan_.group(rank) == group)
            numbering.meeting(summary(rank).span(), false, [&](Extent met) { set.add(met); });
        set.merge();
        asked_ += set.count(local(group, n).windows);
      }
  }

  /// Ranges of windows that hold bytes of a rank, ascending and disjoint within one run; returns
  /// blocks walked.
  template <class Visit>
  std::int64_t windows_with_bytes(int rank, const Numbering& numbering, Visit&& visit) const {
    const auto mine = access(rank);
    std::int64_t walked = 0;
    visit_runs(mine.file, mine.begin, mine.end, [&](const Run& run) {
      ++walked;
      if (run.count == 1 || run.stride - run.length < numbering.shortest_window()) {
        numbering.meeting({run.offset, run.end()}, true, visit);
        return;
      }
      walked +=
          run.count * (numbering.ascending() ? 1 : static_cast<std::int64_t>(numbering.size()));
      for (std::int64_t i = 0; i < run.count; ++i)
        numbering.meeting({run.block(i), run.block(i) + run.length}, true, visit);
    });
    return walked;
  }

  /// Distinct windows on other nodes that hold bytes of a rank. Ranges come in ascending order per
  /// aggregator, so only the last one of each has to be remembered.
  std::int64_t held_by(int rank, const Numbering& numbering, std::int64_t& walked) {
    const auto& here = local(plan_.group(rank), node(rank));
    if (!numbering.ascending()) {
      WindowSet set;
      walked += windows_with_bytes(rank, numbering, [&](Extent range) { set.add(range); });
      set.merge();
      return set.count(here.windows);
    }
    std::int64_t sum = 0, seen = -1;
    walked += windows_with_bytes(rank, numbering, [&](Extent range) {
      range.begin = std::max(range.begin, seen);
      if (range.empty()) return;
      sum += outside(range, here);
      seen = range.end;
    });
    return sum;
  }

  /// Windows with at least one byte to answer or to send.
  void holding() {
    if (relays_) return holding_of_relays();
    const auto ranks = c_.topology.ranks();
    std::int64_t step = step_of_ranks(), walked = 0, looked_at = 0, sum = 0;
    for (std::int64_t rank = 0; rank < ranks; rank += step) {
      ++looked_at;
      const auto r = static_cast<int>(rank);
      const auto* numbering = numbering_of(r);
      if (!summary(r).empty() && numbering != nullptr) sum += held_by(r, *numbering, walked);
    }
    held_ = scaled(sum, ranks, looked_at);
  }

  std::int64_t scaled(std::int64_t sum, std::int64_t all, std::int64_t looked_at) {
    if (looked_at == all) return sum;
    t_.sampled = true;
    return static_cast<std::int64_t>(std::llround(
        static_cast<double>(sum) * static_cast<double>(all) / static_cast<double>(looked_at)));
  }

  /// Every how many ranks must be looked at to stay within the budget, judged by a few of them.
  std::int64_t step_of_ranks() {
    const std::int64_t ranks = c_.topology.ranks(), probes = std::min<std::int64_t>(ranks, 16);
    std::int64_t blocks = 0;
    for (std::int64_t i = 0; i < probes; ++i) {
      const auto rank = static_cast<int>(i * ranks / probes);
      const auto* numbering = numbering_of(rank);
      if (summary(rank).empty() || numbering == nullptr) continue;
      const auto mine = access(rank);
      visit_runs(mine.file, mine.begin, mine.end, [&](const Run& run) {
        blocks += 1;
        if (run.count > 1 && run.stride - run.length >= numbering->shortest_window())
          blocks += run.count *
                    (numbering->ascending() ? 1 : static_cast<std::int64_t>(numbering->size()));
      });
    }
    const auto all = blocks / std::max<std::int64_t>(1, probes) * ranks;
    const auto budget = relays_ ? range_budget : walk_budget;
    return std::max<std::int64_t>(1, (all + budget - 1) / budget);
  }

  void holding_of_relays() {
    const std::int64_t nodes = c_.topology.nodes(), step = std::min(nodes, step_of_ranks());
    std::int64_t sum = 0, looked_at = 0;
    for (std::int64_t n = 0; n < nodes; n += step) {
      ++looked_at;
      for (const auto& [group, numbering] : groups_) {
        WindowSet set;
        for (const int rank : c_.topology.ranks_of(static_cast<int>(n)))
          if (!summary(rank).empty() && plan_.group(rank) == group)
            windows_with_bytes(rank, numbering, [&](Extent range) { set.add(range); });
        set.merge();
        sum += set.count(local(group, static_cast<int>(n)).windows);
      }
    }
    held_ = scaled(sum, nodes, looked_at);
  }

  void sum_up() {
    t_.messages_between_nodes = asked_;
    if (c_.writing && !relays_) t_.empty_messages = asked_ - held_;
    if (!c_.writing) {
      t_.messages_between_nodes += held_;
      t_.empty_messages = asked_;
    }
    for (std::size_t n = 0; n < into_.size(); ++n)
      t_.most_bytes_of_node = std::max({t_.most_bytes_of_node, into_[n], out_of_[n]});
    const auto nodes = std::max<std::int64_t>(1, static_cast<std::int64_t>(into_.size()));
    t_.most_messages_of_node = (t_.messages_between_nodes + nodes - 1) / nodes;
  }

  /// Descriptions as they would be encoded, of all messages if they are few, else of an even
  /// sample.
  void describe() {
    if (asked_ == 0) return;
    std::int64_t described = 0, bytes = 0;
    const auto one = [&](const Runs& runs) {
      Bytes out;
      encode(runs, out);
      bytes += header_bytes + static_cast<std::int64_t>(out.size());
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
  }

  template <class One>
  void describe_ranks(One&& one) const {
    const bool all = asked_ <= described_messages;
    const int rank_step = all ? 1 : std::max(1, c_.topology.ranks() / 64);
    for (int rank = 0; rank < c_.topology.ranks(); rank += rank_step) {
      const auto* numbering = numbering_of(rank);
      if (summary(rank).empty() || numbering == nullptr) continue;
      const auto mine = access(rank);
      numbering->meeting(mine.span(), false, [&](Extent met) {
        const auto step = all ? 1 : std::max<std::int64_t>(1, met.size() / 64);
        for (auto w = met.begin; w < met.end; w += step) {
          const auto i = numbering->owner(w);
          if (node(numbering->rank(i)) != node(rank)) one(runs_in(mine, numbering->window(w)));
        }
      });
    }
  }

  /// A relay describes the stretches its node has in a window.
  template <class One>
  void describe_relays(One&& one) const {
    const bool all = asked_ <= 1000;
    const int node_step = all ? 1 : std::max(1, c_.topology.nodes() / 8);
    for (int n = 0; n < c_.topology.nodes(); n += node_step)
      for (const auto& [group, numbering] : groups_) {
        WindowSet set;
        for (const int rank : c_.topology.ranks_of(n))
          if (!summary(rank).empty() && plan_.group(rank) == group)
            numbering.meeting(summary(rank).span(), false, [&](Extent met) { set.add(met); });
        set.merge();
        for (const auto& range : set.ranges()) {
          const auto step = all ? 1 : std::max<std::int64_t>(1, range.size() / 8);
          for (auto w = range.begin; w < range.end; w += step)
            if (node(numbering.rank(numbering.owner(w))) != n)
              one(stretches(n, numbering.window(w)));
        }
      }
  }

  Runs stretches(int n, const Run& window) const {
    std::vector<Extent> blocks;
    for (const int rank : c_.topology.ranks_of(n))
      for (const auto& run : runs_in(access(rank), window))
        for (std::int64_t i = 0; i < run.count; ++i)
          blocks.push_back({run.block(i), run.block(i) + run.length});
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

  void cycles() {
    std::map<int, WindowSet> met;
    for (int rank = 0; rank < c_.topology.ranks(); ++rank) {
      const auto* numbering = numbering_of(rank);
      if (summary(rank).empty() || numbering == nullptr) continue;
      auto& set = met[plan_.group(rank)];
      numbering->meeting(summary(rank).span(), false, [&](Extent range) { set.add(range); });
      if (set.size() > 100'000) set.merge();
    }
    for (auto& [group, set] : met) {
      set.merge();
      t_.cycles += set.count({});
    }
    if (relays_) t_.cycles += asked_;
  }

  const Plan& plan_;
  const Call& c_;
  bool relays_;
  std::map<int, Numbering> groups_;
  std::unordered_map<std::int64_t, Local> local_;
  std::unordered_map<int, double> bytes_of_group_;
  std::vector<std::int64_t> into_, out_of_;
  std::int64_t asked_ = 0;  ///< messages of ranks (or relays) to aggregators
  std::int64_t held_ = 0;   ///< of those, with bytes in their window
  Traffic t_;
};

/// Static segmentation: packets as engine/slots.cpp cuts them.
class SlotCounter {
 public:
  SlotCounter(const Plan& plan, const Call& call)
      : plan_(plan), c_(call), members_(plan.aggregators.size()) {
    for (const int writer : plan.writer_of)
      if (writer >= 0) ++members_[at(writer)];
  }

  Traffic count() {
    std::vector<std::int64_t> rounds(members_.size()), crossing(at(c_.topology.nodes()));
    for (int rank = 0; rank < c_.topology.ranks(); ++rank) {
      const int writer = plan_.writer_of[at(rank)];
      if (writer < 0) continue;
      const auto mine = c_.workload.access(rank, c_.number);
      const auto& sent = packets(mine, members_[at(writer)]);
      rounds[at(writer)] = std::max(rounds[at(writer)], sent.count);
      const int home = c_.topology.node_of(rank),
                there = c_.topology.node_of(plan_.aggregators[at(writer)].rank);
      if (home == there) {
        t_.bytes_in_node += mine.bytes();
        continue;
      }
      t_.bytes_between_nodes += mine.bytes();
      t_.messages_between_nodes += sent.count * (c_.writing ? 1 : 2);
      t_.metadata_bytes += sent.description + sent.count * header_bytes;
      if (!c_.writing) {
        t_.empty_messages += sent.count;
      }
      crossing[at(home)] += mine.bytes();
      crossing[at(there)] += mine.bytes();
    }
    for (const auto bytes : crossing)
      t_.most_bytes_of_node = std::max(t_.most_bytes_of_node, bytes);
    t_.most_messages_of_node = t_.messages_between_nodes / std::max(1, c_.topology.nodes()) + 1;
    for (const auto count : rounds) t_.cycles += count;
    return t_;
  }

 private:
  struct Packets {
    std::int64_t count = 0, description = 0;
  };

  /// Packets depend on the relative pattern only, so ranks with equal patterns share the answer.
  const Packets& packets(const Access& mine, std::int64_t members) {
    const auto key = std::pair(mine.relative_hash(), members);
    const auto [found, fresh] = known_.try_emplace(key);
    if (fresh) found->second = cut(mine, members);
    return found->second;
  }

  Packets cut(const Access& mine, std::int64_t members) const {
    const auto shape = slot_shape(plan_, c_.parameters, members);
    Packets all;
    for (auto next = mine.begin; next < mine.end;) {
      Runs runs;
      next = slot_portion(mine, next, shape, runs);
      Bytes out;
      encode(runs, out);
      all.description += static_cast<std::int64_t>(out.size());
      ++all.count;
    }
    return all;
  }

  const Plan& plan_;
  const Call& c_;
  std::vector<std::int64_t> members_;
  std::map<std::pair<std::uint64_t, std::int64_t>, Packets> known_;
  Traffic t_;
};

/// Opening and closing: the leaders reduce 40 and 24 bytes along a tree both ways, and gather 64
/// bytes per rank.
void add_agreement(Traffic& traffic, const Topology& topology) {
  const std::int64_t nodes = topology.nodes(), ranks = topology.ranks();
  if (nodes < 2) return;
  const auto rounds = static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(nodes))));
  traffic.agreement_messages = 2 * nodes * rounds + nodes * (nodes - 1);
  traffic.agreement_bytes = nodes * rounds * (40 + 24) + ballot_bytes * ranks * (nodes - 1);
}

}  // namespace

SlotShape slot_shape(const Plan& plan, const Parameters& parameters, std::int64_t members) {
  constexpr std::int64_t header = 64, most_encoded_run = 40, least = 512, alignment = 64;
  const auto share = std::min(plan.cycle_bytes, parameters.most_cycle_bytes) / members;
  const auto room = std::max(least, share / alignment * alignment) - header;
  const auto description = std::max(room / 4, most_encoded_run + 16);
  return {room - description, at(std::max<std::int64_t>(1, description / most_encoded_run))};
}

std::int64_t slot_portion(const Access& access, std::int64_t begin, const SlotShape& shape,
                          Runs& runs) {
  auto end = begin;
  bool full = false;
  visit_runs(access.file, begin, std::min(access.end, begin + shape.data), [&](const Run& run) {
    if (full) return;
    append(runs, run);
    if (runs.size() > shape.most_runs) {
      runs.pop_back();
      full = true;
      return;
    }
    end += run.bytes();
  });
  return end;
}

Traffic count_traffic(const Plan& plan, const Call& call) {
  Traffic traffic;
  if (plan.exchange == Exchange::windows) traffic = WindowCounter(plan, call).count();
  if (plan.exchange == Exchange::slots) traffic = SlotCounter(plan, call).count();
  add_agreement(traffic, call.topology);
  return traffic;
}

}  // namespace choir::model
