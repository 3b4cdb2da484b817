// slot_traffic.cpp: static segmentation: packets as engine/slots.cpp cuts them.
#include <map>
#include <tuple>

#include "access/codec.hpp"
#include "model/counters.hpp"

namespace choir::model {
namespace {

constexpr std::int64_t described_packets = 100'000;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

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
      t_.metadata_bytes += sent.description;
      if (!c_.writing) {
        t_.empty_messages += sent.count;
        t_.metadata_bytes += sent.count * reply_overhead;
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

  /// Packets depend on the relative pattern, and their descriptions on the offset by a byte or two:
  /// beyond the first many packets, ranks with equal patterns share the answer.
  const Packets& packets(const Access& mine, std::int64_t members) {
    const auto place = counted_ < described_packets ? mine.span().begin : -1;
    const auto key = std::tuple(mine.relative_hash(), members, place);
    const auto [found, fresh] = known_.try_emplace(key);
    if (fresh) found->second = cut(mine, members);
    counted_ += found->second.count;
    return found->second;
  }

  Packets cut(const Access& mine, std::int64_t members) const {
    const auto shape = slot_shape(plan_, c_.parameters, members);
    Packets all;
    for (auto next = mine.begin; next < mine.end;) {
      Runs runs;
      next = slot_portion(mine, next, shape, runs);
      all.description += described_bytes(runs);
      ++all.count;
    }
    return all;
  }

  const Plan& plan_;
  const Call& c_;
  std::vector<std::int64_t> members_;
  std::map<std::tuple<std::uint64_t, std::int64_t, std::int64_t>, Packets> known_;
  std::int64_t counted_ = 0;
  Traffic t_;
};

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

Traffic count_slots(const Plan& plan, const Call& call) { return SlotCounter(plan, call).count(); }

}  // namespace choir::model
