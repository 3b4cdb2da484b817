// predict.hpp: one call under one strategy on an imaginary machine: traffic, requests, memory and
// time.
#pragma once

#include <optional>
#include <string>

#include "model/native.hpp"
#include "plan/strategy.hpp"

namespace choir::model {

struct Times {
  double agree = 0;     ///< opening and closing
  double exchange = 0;  ///< data between ranks, on the busiest node
  double storage = 0;
  double total = 0;
};

struct Prediction {
  std::string strategy;
  std::int64_t bytes = 0;  ///< asked by all ranks
  int aggregators = 0;
  Traffic traffic;
  StorageUse storage;
  std::int64_t metadata_bytes = 0;  ///< all that is not data, between nodes
  std::int64_t memory_per_aggregator = 0;
  std::int64_t memory_per_node = 0;  ///< cycle buffers, and what every rank knows of every other
  Times seconds;
  bool sampled = false;

  double bandwidth() const {
    return seconds.total > 0 ? static_cast<double>(bytes) / seconds.total : 0;
  }
};

struct Scenario {
  Machine machine;
  WorkloadParameters workload;
  Parameters parameters;
  bool writing = true;
  bool asynchronous =
      false;               ///< storage that works while its aggregator receives (backends threaded, io_uring)
  bool first_call = true;  ///< the pattern is not known yet
};

/// The parameters with the machine's striping, and the buffer limits the engine derives.
Parameters engine_parameters(const Scenario& scenario);
Topology topology_of(const Machine& machine);
int seats_per_node(const Parameters& parameters, const Topology& topology);

/// Not for use by several threads at once.
class Model {
 public:
  /// Throws std::invalid_argument with a sentence for the user.
  explicit Model(Scenario scenario);

  const Scenario& scenario() const { return s_; }
  const Workload& workload() const { return workload_; }
  const Topology& topology() const { return topology_; }
  const Parameters& parameters() const { return parameters_; }

  /// One call of the workload; nothing if the strategy does not apply.
  std::optional<Prediction> predict(const Strategy& strategy, std::int64_t call) const;
  /// All calls of the workload added up. Patterns that only move are computed once.
  std::optional<Prediction> predict_all(const Strategy& strategy) const;

 private:
  Prediction predict_native(const Call& call) const;
  Call call_of(std::int64_t number, std::span<const RankSummary> ranks) const;
  void add_times(Prediction& prediction, const Plan& plan, std::int64_t pieces) const;

  Scenario s_;
  Topology topology_;
  Parameters parameters_;
  Workload workload_;
  mutable std::vector<RankSummary> summaries_;  ///< of the call asked for last
  mutable std::int64_t summarised_ = -1;
};

}  // namespace choir::model
