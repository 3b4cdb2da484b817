#include "model/predict.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "model/counters.hpp"

namespace choir::model {
namespace {

/// Calls computed one by one before a workload's calls count as alike.
constexpr std::int64_t most_calls = 64;
constexpr std::int64_t most_ranks_times_calls = 2'000'000;

double rounds_of(int nodes) { return std::ceil(std::log2(std::max(2, nodes))); }

std::int64_t total_pieces(const Call& call) {
  const int step = std::max(1, call.topology.ranks() / 4096);
  std::int64_t pieces = 0;
  for (int rank = 0; rank < call.topology.ranks(); rank += step)
    pieces += call.workload.access(rank, call.number).pieces() * step;
  return pieces;
}

std::int64_t total_bytes(std::span<const RankSummary> ranks) {
  std::int64_t bytes = 0;
  for (const auto& rank : ranks) bytes += rank.bytes;
  return bytes;
}

void add(Traffic& sum, const Traffic& one) {
  sum.bytes_in_node += one.bytes_in_node;
  sum.bytes_between_nodes += one.bytes_between_nodes;
  sum.messages_between_nodes += one.messages_between_nodes;
  sum.empty_messages += one.empty_messages;
  sum.metadata_bytes += one.metadata_bytes;
  sum.agreement_bytes += one.agreement_bytes;
  sum.gathered_bytes += one.gathered_bytes;
  sum.cycles += one.cycles;
  sum.most_bytes_of_node += one.most_bytes_of_node;
  sum.most_messages_of_node += one.most_messages_of_node;
  sum.sampled = sum.sampled || one.sampled;
}

void add(Prediction& sum, const Prediction& one) {
  sum.bytes += one.bytes;
  add(sum.traffic, one.traffic);
  sum.storage.requests += one.storage.requests;
  sum.storage.server_requests += one.storage.server_requests;
  sum.storage.seeks += one.storage.seeks;
  sum.storage.bytes += one.storage.bytes;
  sum.storage.most_requests_of_server += one.storage.most_requests_of_server;
  sum.storage.busiest_s += one.storage.busiest_s;
  sum.storage.elapsed_s += one.storage.elapsed_s;
  sum.storage.alone_s += one.storage.alone_s;
  sum.metadata_bytes += one.metadata_bytes;
  sum.seconds.agree += one.seconds.agree;
  sum.seconds.exchange += one.seconds.exchange;
  sum.seconds.storage += one.seconds.storage;
  sum.seconds.total += one.seconds.total;
  sum.sampled = sum.sampled || one.sampled;
}

/// The sum over `times` equal calls.
Prediction repeated(Prediction p, std::int64_t times) {
  auto& t = p.traffic;
  for (auto* count : {&p.bytes, &p.metadata_bytes, &t.bytes_in_node, &t.bytes_between_nodes,
                      &t.messages_between_nodes, &t.empty_messages, &t.metadata_bytes,
                      &t.agreement_bytes, &t.gathered_bytes, &t.cycles, &t.most_bytes_of_node,
                      &t.most_messages_of_node, &p.storage.requests, &p.storage.server_requests,
                      &p.storage.seeks, &p.storage.bytes, &p.storage.most_requests_of_server})
    *count *= times;
  for (auto* seconds :
       {&p.storage.busiest_s, &p.storage.elapsed_s, &p.storage.alone_s, &p.seconds.agree,
        &p.seconds.exchange, &p.seconds.storage, &p.seconds.total})
    *seconds *= static_cast<double>(times);
  return p;
}

void check(const Machine& m) {
  if (m.ranks < 1 || m.nodes < 1 || m.cores < 1 || m.nodes > m.ranks)
    throw std::invalid_argument(
        "there is at least one rank, node and core, and no more nodes than ranks");
  if (m.between.bandwidth <= 0 || m.inside.bandwidth <= 0 || m.between.latency_s < 0 ||
      m.inside.latency_s < 0)
    throw std::invalid_argument("bandwidths are positive and latencies not negative");
  const auto& d = m.servers;
  if (d.count < 1 || d.unit < 1 || d.bandwidth <= 0 || d.seek_s < 0 || d.request_s < 0 ||
      d.largest_request < 0)
    throw std::invalid_argument("there is at least one server, with positive stripe and bandwidth");
}

Scenario checked(Scenario scenario) {
  check(scenario.machine);
  if (scenario.parameters.cycle_bytes < 4096)
    throw std::invalid_argument("a cycle buffer has at least 4096 bytes");
  scenario.workload.ranks = scenario.machine.ranks;
  return scenario;
}

}  // namespace

Parameters engine_parameters(const Scenario& scenario) {
  auto p = scenario.parameters;
  p.most_cycle_bytes = std::max<std::int64_t>(
      4096, p.scaling ? std::max(p.cycle_bytes, p.most_cycle_bytes) : p.cycle_bytes);
  p.stripe_unit = scenario.machine.servers.unit;
  p.stripe_servers = scenario.machine.servers.count;
  return p;
}

Topology topology_of(const Machine& machine) {
  std::vector<int> node_of(static_cast<std::size_t>(machine.ranks));
  const int per_node = (machine.ranks + machine.nodes - 1) /
                       machine.nodes;  // in blocks, the last node takes the rest
  for (int rank = 0; rank < machine.ranks; ++rank)
    node_of[static_cast<std::size_t>(rank)] = rank / per_node;
  return Topology(node_of, machine.cores);
}

int seats_per_node(const Parameters& parameters, const Topology& topology) {
  const int by_cores = std::min(4, topology.cores_per_node());
  int wanted = parameters.aggregators_per_node > 0 ? parameters.aggregators_per_node : by_cores;
  wanted = std::max(wanted, parameters.writers_per_group);
  int most = 1;
  for (int node = 0; node < topology.nodes(); ++node)
    most = std::max(most, static_cast<int>(topology.ranks_of(node).size()));
  return std::clamp(wanted, 1, most);
}

Model::Model(Scenario scenario)
    : s_(checked(std::move(scenario))),
      topology_(topology_of(s_.machine)),
      parameters_(engine_parameters(s_)),
      workload_(s_.workload) {}

Call Model::call_of(std::int64_t number, std::span<const RankSummary> ranks) const {
  return {workload_, number, topology_, ranks, parameters_, s_.writing, s_.first_call};
}

namespace {

bool arrives_meanwhile(const Traffic& t, const Machine& m) {
  return t.messages_between_nodes > 0 &&
         t.bytes_between_nodes / t.messages_between_nodes <= m.eager_bytes;
}

}  // namespace

/// The busiest node sets the pace of the exchange. An aggregator that waits in a system call
/// receives nothing but what is sent eagerly, so its own exchange and storage add up; but while
/// some wait for servers, others use the links, so neither of the two as a whole is waited for
/// twice, and of links that are used one after the other an aggregator waits for its own part only.
/// Asynchronous storage lets even one aggregator overlap all but a cycle.
void Model::add_times(Prediction& prediction, const Plan& plan, std::int64_t pieces) const {
  const auto& m = s_.machine;
  const auto& t = prediction.traffic;
  const double nodes = topology_.nodes();
  auto& seconds = prediction.seconds;
  seconds.agree =
      2 * rounds_of(topology_.nodes()) * m.between.latency_s * (nodes > 1 ? 1 : 0) + 2 * m.wait_s;
  if (s_.first_call && nodes > 1)
    seconds.agree += static_cast<double>(ballot_bytes) * topology_.ranks() / m.between.bandwidth;
  const double cores = m.shared_cores ? m.cores / nodes : m.cores;
  const double workers = std::max(0.25, std::min(cores, topology_.ranks() / nodes));
  const auto wire = [&](std::int64_t bytes_of_node) {
    return (static_cast<double>(bytes_of_node) + static_cast<double>(t.metadata_bytes) / nodes) /
           m.between.bandwidth;
  };
  const double copies =
      (static_cast<double>(t.bytes_in_node) + 2 * static_cast<double>(t.bytes_between_nodes)) /
      nodes / m.inside.bandwidth / workers;
  const double processor = (static_cast<double>(t.most_messages_of_node) * 2 * m.message_s +
                            static_cast<double>(pieces) / nodes * m.piece_s) /
                           workers;
  const double windows =
      static_cast<double>(t.cycles) / std::max<std::size_t>(1, plan.aggregators.size());
  const bool exchanges = plan.exchange != Exchange::none;
  const double besides =
      copies + processor + windows * (m.between.latency_s * (nodes > 1 ? 1 : 0) + m.wait_s);
  const double own = exchanges ? wire(t.most_bytes_of_node) + besides : 0;
  seconds.exchange =
      exchanges ? wire(std::max(t.most_bytes_of_node, t.paced_bytes_of_node)) + besides : 0;
  seconds.storage = std::max(prediction.storage.busiest_s, prediction.storage.elapsed_s);
  const double together = s_.asynchronous
                              ? std::min(seconds.exchange, seconds.storage) / std::max(1.0, windows)
                              : prediction.storage.alone_s +
                                    (arrives_meanwhile(t, m) ? own / std::max(1.0, windows) : own);
  const double longer = std::max(seconds.exchange, seconds.storage);
  seconds.total =
      seconds.agree + (s_.asynchronous ? longer + together : std::max(longer, together));
}

Prediction Model::predict_native(const Call& call) const {
  const auto native = count_native(call);
  const auto plan = native_plan(call);
  const auto& m = s_.machine;
  Prediction p;
  p.traffic = native.traffic;
  p.aggregators = static_cast<int>(plan.aggregators.size());
  p.storage = simulate(streams_of(plan, call), m.servers, 0);
  p.metadata_bytes = native.traffic.metadata_bytes;
  p.traffic.metadata_bytes = 0;  // travels before the data, below
  p.memory_per_aggregator = 2 * native_cycle_bytes + native.most_list_bytes;
  p.memory_per_node = p.memory_per_aggregator + 16 * static_cast<std::int64_t>(call.ranks.size());
  p.traffic.messages_between_nodes += native.alltoall_messages;
  add_times(p, plan, total_pieces(call) * static_cast<std::int64_t>(romio_costs.pieces));
  // Lists travel before any data, every cycle begins with an all-to-all, and nothing overlaps.
  const double nodes = topology_.nodes();
  const double lists = static_cast<double>(native.list_bytes) / nodes / m.between.bandwidth;
  const double rounds = std::ceil(std::log2(std::max(2, topology_.ranks())));
  const double alltoalls = static_cast<double>(native.cycles + 1) * rounds *
                               (m.between.latency_s + m.message_s + m.wait_s) +
                           static_cast<double>(native.alltoall_bytes) / nodes / m.between.bandwidth;
  p.seconds.agree = lists + alltoalls + 16.0 * topology_.ranks() / m.between.bandwidth;
  p.seconds.total = p.seconds.agree + p.seconds.exchange + p.seconds.storage;
  return p;
}

std::optional<Prediction> Model::predict(const Strategy& strategy, std::int64_t number) const {
  if (number != summarised_) {
    summaries_ = workload_.summaries(number);
    summarised_ = number;
  }
  const auto& ranks = summaries_;
  const auto call = call_of(number, ranks);
  Prediction p;
  if (strategy.name == "native") {
    p = predict_native(call);
  } else {
    const PlanInput in{topology_, ranks, parameters_, seats_per_node(parameters_, topology_)};
    const auto pieces = total_pieces(call);
    if (!std::isfinite(strategy.estimate_s(in, {pieces, s_.writing, false, true})))
      return std::nullopt;
    const auto plan = strategy.plan(in);
    p.traffic = count_traffic(plan, call);
    p.aggregators = plan.exchange == Exchange::none ? topology_.ranks()
                                                    : static_cast<int>(plan.aggregators.size());
    p.storage = simulate(streams_of(plan, call), s_.machine.servers, plan.concurrent);
    p.metadata_bytes =
        p.traffic.metadata_bytes + p.traffic.gathered_bytes +
        (topology_.nodes() > 1 ? topology_.nodes() * (opening_bytes + closing_bytes) : 0);
    const auto buffer = parameters_.most_cycle_bytes + parameters_.most_cycle_bytes / 8 + 256;
    p.memory_per_aggregator = plan.exchange == Exchange::none ? 0 : 2 * buffer;
    p.memory_per_node = 2 * buffer * (in.seats_per_node + 1) +
                        2 * ballot_bytes * static_cast<std::int64_t>(ranks.size());
    add_times(p, plan, pieces);
  }
  p.strategy = strategy.name;
  p.bytes = total_bytes(ranks);
  p.sampled = p.traffic.sampled || p.storage.sampled;
  return p;
}

std::optional<Prediction> Model::predict_all(const Strategy& strategy) const {
  auto sum = predict(strategy, 0);
  if (!sum || workload_.calls() == 1) return sum;
  if (workload_.calls() > most_calls ||
      workload_.calls() * topology_.ranks() > most_ranks_times_calls) {
    sum = repeated(*sum, workload_.calls());
    sum->sampled = true;
    return sum;
  }
  for (std::int64_t call = 1; call < workload_.calls(); ++call) add(*sum, *predict(strategy, call));
  return sum;
}

}  // namespace choir::model
