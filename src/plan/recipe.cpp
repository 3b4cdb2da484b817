// recipe.cpp: from four choices to a plan.
#include "plan/recipe.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "plan/locality.hpp"
#include "plan/partition.hpp"

namespace choir {
namespace {

constexpr std::int64_t page = 4096;
/// A slot also holds the description of what is in it, so it must not be tiny.
constexpr std::int64_t least_slot_bytes = 1024;

std::vector<int> everyone(const PlanInput& in) {
  std::vector<int> members(in.ranks.size());
  std::iota(members.begin(), members.end(), 0);
  return members;
}

/// `count` of the members, evenly spread over them. `turn` moves the choice on where that leaves
/// their order as it is: files of different turns then have different aggregators.
std::vector<int> spread(const std::vector<int>& members, int count, int turn = 0) {
  const auto size = static_cast<std::int64_t>(members.size());
  const auto taken = std::min<std::int64_t>(std::max(count, 0), size);
  std::vector<int> chosen(static_cast<std::size_t>(taken));
  const auto moved = taken > 0 ? turn % (size / taken) : 0;
  for (std::int64_t i = 0; i < taken; ++i)
    chosen[static_cast<std::size_t>(i)] =
        members[static_cast<std::size_t>(i * size / taken + moved)];
  return chosen;
}

int default_per_node(const PlanInput& in, int members) {
  const int wanted = in.parameters.aggregators_per_node > 0
                         ? in.parameters.aggregators_per_node
                         : std::min(4, in.topology.cores_per_node());
  return std::clamp(wanted, 1, std::min(members, in.seats_per_node));
}

/// No more aggregators than there is work for.
int worthwhile(std::int64_t bytes, int wanted) {
  const auto enough = std::max<std::int64_t>(1, bytes / least_bytes_per_aggregator);
  return static_cast<int>(std::min<std::int64_t>(wanted, enough));
}

/// Ranks that may aggregate for everyone, nodes in data order, limited by the hint cb_nodes.
std::vector<int> candidates_per_node(const PlanInput& in) {
  std::vector<int> chosen;
  for (const int node : nodes_by_data(in)) {
    const auto& members = in.topology.ranks_of(node);
    for (const int rank : spread(members, default_per_node(in, static_cast<int>(members.size()))))
      chosen.push_back(rank);
  }
  if (in.parameters.aggregators > 0) chosen = spread(chosen, in.parameters.aggregators);
  return chosen;
}

/// The members of a node or group with most to move, first.
std::vector<int> by_data(const PlanInput& in, std::vector<int> members, int count) {
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return in.ranks[static_cast<std::size_t>(a)].bytes >
           in.ranks[static_cast<std::size_t>(b)].bytes;
  });
  members.resize(std::min(members.size(), static_cast<std::size_t>(std::max(1, count))));
  std::sort(members.begin(), members.end());
  return members;
}

/// Gives out the cycle buffers of each node.
class SeatCounter {
 public:
  explicit SeatCounter(const PlanInput& in)
      : in_(in), taken_(static_cast<std::size_t>(in.topology.nodes())) {}
  bool full(int rank) const { return taken(rank) >= in_.seats_per_node; }
  int take(int rank) { return taken_[node(rank)]++; }
  int taken_on(int node) const { return taken_[static_cast<std::size_t>(node)]; }
  std::span<const int> taken_by_node() const { return taken_; }

 private:
  std::size_t node(int rank) const { return static_cast<std::size_t>(in_.topology.node_of(rank)); }
  int taken(int rank) const { return taken_[node(rank)]; }
  const PlanInput& in_;
  std::vector<int> taken_;
};

std::int64_t cycle_bytes_for(const PlanInput& in, std::size_t members) {
  if (!in.parameters.scaling) return in.parameters.cycle_bytes;
  return std::min(
      in.parameters.cycle_bytes * static_cast<std::int64_t>(std::max<std::size_t>(1, members)),
      in.parameters.most_cycle_bytes);
}

std::int64_t cut_alignment(const PlanInput& in) {
  const auto unit = in.parameters.stripe_unit;
  return unit > 0 && unit % page == 0 ? unit : page;
}

/// One aggregator for each range between `cuts` that is not empty.
void add_ranges(Plan& plan, SeatCounter& seats, const std::vector<std::int64_t>& cuts,
                const std::vector<int>& ranks, int group) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto length = cuts[i + 1] - cuts[i];
    if (length > 0)
      plan.aggregators.push_back({ranks[i], group, seats.take(ranks[i]), {cuts[i], length, 0, 1}});
  }
}

void plan_even(Plan& plan, const PlanInput& in, SeatCounter& seats) {
  const auto members = everyone(in);
  auto ranks = candidates_per_node(in);
  const auto candidates = static_cast<int>(ranks.size());
  const auto wanted = worthwhile(bytes_of(in.ranks, members), candidates);
  if (candidates / wanted > 1) plan.turn = in.parameters.turn;
  ranks = spread(ranks, wanted, in.parameters.turn);
  const auto cuts = cut_by_bytes(in.ranks, members, wanted, cut_alignment(in));
  add_ranges(plan, seats, cuts, near_data(in, cuts, std::move(ranks)), 0);
}

/// A server is asked stripe by stripe, however large the window: a small one only shortens the wait
/// for the first. It need not be smaller than two stripes, one on its way while the other is
/// gathered, nor so small that messages become tiny. Where holes are read and written again, each
/// window costs the server a way back, and few are better.
std::int64_t cycle_bytes_of_stripes(const PlanInput& in, std::int64_t usual) {
  constexpr std::int64_t least_message = 16 * 1024;
  const auto members = everyone(in);
  const bool holes = bytes_of(in.ranks, members) < span_of(in.ranks, members).size();
  if (holes || in.topology.nodes() == 1) return usual;
  return std::min(usual,
                  std::max(2 * in.parameters.stripe_unit, least_message * in.topology.ranks()));
}

/// One aggregator (or n) per data server: server s holds the stripes s, s + servers, s + 2 servers,
/// ...
void plan_stripes(Plan& plan, const PlanInput& in, SeatCounter& seats) {
  const auto& p = in.parameters;
  const auto span = span_of(in.ranks, everyone(in));
  if (span.empty()) return;
  const auto first = span.begin / p.stripe_unit;
  const auto last = (span.end - 1) / p.stripe_unit + 1;
  const auto parts = std::max(1, p.aggregators_per_server);
  std::vector<Run> domains;
  for (int server = 0; server < p.stripe_servers; ++server) {
    const auto from =
        first + ((server - first) % p.stripe_servers + p.stripe_servers) % p.stripe_servers;
    const auto stripes = from < last ? (last - from - 1) / p.stripe_servers + 1 : 0;
    for (int part = 0; part < parts; ++part) {
      const auto begin = stripes * part / parts, end = stripes * (part + 1) / parts;
      const auto stride = p.stripe_unit * p.stripe_servers;
      if (begin < end)
        domains.push_back({from * p.stripe_unit + begin * stride, p.stripe_unit,
                           end - begin > 1 ? stride : 0, end - begin});
    }
  }
  // Spread over all nodes, so that no node's link carries every server's bytes. With more servers
  // than candidates a rank serves several, one after the other on one seat.
  const auto candidates = spread(candidates_per_node(in), static_cast<int>(domains.size()));
  for (std::size_t i = 0; i < domains.size(); ++i)
    plan.aggregators.push_back({candidates[i % candidates.size()], 0, 0, domains[i]});
  std::map<int, int> seat_of;
  for (auto& aggregator : plan.aggregators) {
    const auto found = seat_of.find(aggregator.rank);
    aggregator.seat = found != seat_of.end() ? found->second : seats.take(aggregator.rank);
    seat_of.emplace(aggregator.rank, aggregator.seat);
  }
}

void set_groups(Plan& plan, const PlanInput& in, const std::vector<std::vector<int>>& groups) {
  plan.group_of.assign(in.ranks.size(), -1);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const int rank : groups[g])
      plan.group_of[static_cast<std::size_t>(rank)] = static_cast<int>(g);
}

std::size_t seats_in_all(const PlanInput& in) {
  return static_cast<std::size_t>(in.topology.nodes()) *
         static_cast<std::size_t>(in.seats_per_node);
}

std::vector<std::vector<int>> groups_of(const Recipe& recipe, const PlanInput& in) {
  std::vector<std::vector<int>> groups;
  if (recipe.partition == Partition::node) {
    for (int node = 0; node < in.topology.nodes(); ++node)
      groups.push_back(in.topology.ranks_of(node));
    return groups;
  }
  int size = in.parameters.group_size;
  if (size <= 0) size = std::max(1, in.topology.ranks() / std::max(1, in.topology.nodes()));
  // No more groups than cycle buffers, and none much larger than the others.
  const auto busy = std::count_if(in.ranks.begin(), in.ranks.end(),
                                  [](const RankSummary& r) { return !r.empty(); });
  const auto seats = static_cast<std::int64_t>(seats_in_all(in));
  size = std::max(size, static_cast<int>((busy + seats - 1) / seats));
  return groups_by_layout(in.ranks, size);
}

int writers_wanted(const Recipe& recipe, const PlanInput& in, const std::vector<int>& group) {
  const auto size = static_cast<int>(group.size());
  if (recipe.aggregators == Choice::every) return size;
  if (recipe.aggregators == Choice::writers) {
    if (in.parameters.writers_per_group > 0) return std::min(in.parameters.writers_per_group, size);
    // One writer keeps a link busy, but not the cores of a node that has no other.
    if (in.topology.nodes() > 1) return 1;
  }
  return default_per_node(in, size);
}

/// Those of `ranks` whose node still has a cycle buffer.
std::vector<int> seated(const SeatCounter& seats, const std::vector<int>& ranks,
                        const PlanInput& in) {
  std::map<int, int> promised;
  std::vector<int> kept;
  for (const int rank : ranks) {
    const int node = in.topology.node_of(rank);
    if (seats.taken_on(node) + promised[node] >= in.seats_per_node) continue;
    ++promised[node];
    kept.push_back(rank);
  }
  return kept;
}

/// Any rank of the job whose node still has a cycle buffer, near the group's first rank.
std::vector<int> fallback_seat(const SeatCounter& seats, const std::vector<int>& group,
                               const PlanInput& in) {
  const int ranks = in.topology.ranks();
  for (int i = 0; i < ranks; ++i) {
    const int rank = (group[0] + i) % ranks;
    if (!seats.full(rank)) return {rank};
  }
  return {};
}

/// Who talks to storage for a group; empty if no member's node has a cycle buffer left.
std::vector<int> writers_of(const Recipe& recipe, const PlanInput& in, const SeatCounter& seats,
                            const std::vector<int>& group, int wanted) {
  if (recipe.aggregators == Choice::most_data) return seated(seats, by_data(in, group, wanted), in);
  if (wanted > 1) return seated(seats, spread(group, wanted), in);
  for (const int rank : writers_near_data(in, group, seats.taken_by_node()))
    if (!seats.full(rank)) return {rank};
  return {};
}

void plan_groups(const Recipe& recipe, Plan& plan, const PlanInput& in, SeatCounter& seats) {
  const auto groups = groups_of(recipe, in);
  set_groups(plan, in, groups);
  std::size_t largest = 1;
  // With at most this many writers each, no group is left without a cycle buffer.
  const auto share = static_cast<int>(seats_in_all(in) / std::max<std::size_t>(1, groups.size()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    largest = std::max(largest, groups[g].size());
    const auto bytes = bytes_of(in.ranks, groups[g]);
    if (bytes == 0) continue;
    const auto wanted = worthwhile(bytes, std::min(share, writers_wanted(recipe, in, groups[g])));
    auto ranks = writers_of(recipe, in, seats, groups[g], wanted);
    if (ranks.empty()) ranks = fallback_seat(seats, groups[g], in);
    const auto cuts =
        cut_by_bytes(in.ranks, groups[g], static_cast<int>(ranks.size()), cut_alignment(in));
    add_ranges(plan, seats, cuts, ranks, static_cast<int>(g));
  }
  plan.cycle_bytes = cycle_bytes_for(in, largest);
}

/// Fixed bytes per rank a cycle: every rank has one writer, writers of a group take turns.
void assign_writers(Plan& plan, const PlanInput& in) {
  std::map<int, std::vector<int>> writers;
  for (std::size_t a = 0; a < plan.aggregators.size(); ++a)
    writers[plan.aggregators[a].group].push_back(static_cast<int>(a));
  std::map<int, std::size_t> next;
  plan.writer_of.assign(in.ranks.size(), -1);
  for (std::size_t rank = 0; rank < in.ranks.size(); ++rank) {
    const int group = plan.group(static_cast<int>(rank));
    if (in.ranks[rank].empty() || group < 0) continue;
    const auto& mine = writers.at(group);
    plan.writer_of[rank] = mine[next[group]++ % mine.size()];
  }
  // Domains mean nothing here; one shape keeps equal plans equal.
  for (auto& aggregator : plan.aggregators) aggregator.domain = {0, 1, 0, 1};
}

/// Buffers so small that not even one rank's slot fits would never finish.
bool slots_fit(const Plan& plan, const PlanInput& in) {
  std::map<int, std::int64_t> served;
  for (const int writer : plan.writer_of)
    if (writer >= 0) ++served[writer];
  std::int64_t most = 1;
  for (const auto& [writer, count] : served) most = std::max(most, count);
  return in.parameters.most_cycle_bytes / most >= least_slot_bytes;
}

void add_relays(Plan& plan, const PlanInput& in, const SeatCounter& seats) {
  for (int node = 0; node < in.topology.nodes(); ++node) {
    const auto& ranks = in.topology.ranks_of(node);
    plan.relay_of_node.push_back({ranks[ranks.size() / 2], seats.taken_on(node)});
  }
}

Exchange exchange_of(const Recipe& recipe) {
  if (recipe.partition == Partition::owner) return Exchange::none;
  return recipe.cycles == Cycles::per_rank ? Exchange::slots : Exchange::windows;
}

}  // namespace

Plan plan_recipe(const Recipe& recipe, const PlanInput& in) {
  Plan plan;
  plan.exchange = exchange_of(recipe);
  plan.requests = recipe.requests;
  if (plan.exchange == Exchange::none) {
    plan.concurrent = recipe.scheduled ? std::max(1, in.parameters.concurrent) : 0;
    return plan;
  }
  plan.cycle_bytes = cycle_bytes_for(in, in.ranks.size());
  SeatCounter seats(in);
  switch (recipe.partition) {
    case Partition::even:
      plan_even(plan, in, seats);
      break;
    case Partition::stripes:
      plan.cycle_bytes = cycle_bytes_of_stripes(in, plan.cycle_bytes);
      plan_stripes(plan, in, seats);
      break;
    default:
      plan_groups(recipe, plan, in, seats);
      break;
  }
  if (plan.exchange == Exchange::slots) {
    assign_writers(plan, in);
    if (!slots_fit(plan, in)) {  // too many ranks for the buffers: by offset needs no slots
      plan =
          plan_recipe({Partition::even, Choice::per_node, Cycles::by_offset, recipe.requests}, in);
      return plan;
    }
  }
  if (recipe.node_first && in.topology.nodes() > 1) add_relays(plan, in, seats);
  return plan;
}

}  // namespace choir
