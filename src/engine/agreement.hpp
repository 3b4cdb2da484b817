// agreement.hpp: the two points of a call where all ranks meet.
//
// Opening: everyone learns what everyone asks for. Closing: everyone learns whether anyone failed,
// so that an error on one rank is the same error on all, in the same call. Inside a node both are
// counters in shared memory; between nodes one small reduction of the nodes' leaders (and, for a
// pattern not seen before, one gathering of 64 bytes per rank). Both are polled and never block.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/room.hpp"

namespace choir {

class Opening {
 public:
  Opening(Neighbourhood& hood, Room& room, const Ballot& mine, const VoteContent& vote);
  /// Advances; true once the ballots of all ranks are known.
  bool poll();
  bool done() const { return phase_ == Phase::done; }
  /// In rank order. Valid until the call closes. Not filled if known() is true and there are
  /// several nodes.
  std::span<const Ballot> ballots() const {
    return {room_.arena->ballots(parity_), static_cast<std::size_t>(ranks_)};
  }
  /// Every rank named the same cached plan with the same shift.
  bool known() const { return known_; }
  /// Every rank knows the same of strategies, so that all will choose the same.
  bool same_knowledge() const { return same_knowledge_; }
  /// The worst that any rank brought, as its vote says it; 0: nothing.
  std::int32_t objection() const { return objection_; }
  std::int64_t shift() const { return shift_; }
  /// Every rank has moved its bytes already, by the same strategy and for the plan all of them
  /// know.
  bool all_ran_ahead() const { return all_ran_ahead_; }
  /// How that went: worst error, lowest end of file, longest time.
  const Outcome& early_verdict() const { return early_verdict_; }
  /// What this rank put into reductions and gatherings between nodes; 0 for all but leaders.
  std::int64_t bytes_between_nodes() const { return bytes_between_nodes_; }

 private:
  /// What the nodes reduce: equal minimum and maximum mean that all agree.
  struct Common {
    std::int64_t low_name, low_negated_name, low_shift, low_negated_shift, negated_objection;
    std::int64_t low_fingerprint, low_negated_fingerprint;
  };
  enum class Phase { gathering, reducing, exchanging, waiting, done };

  /// What the nodes' leaders tell each other of a pattern that is not known.
  struct Gathering {
    std::vector<Ballot> sent, received;
    std::vector<int> counts, places;
  };

  void count_arrivals();
  void arrive_by_vote(Vote& slot);
  bool all_arrived();
  Common local_common() const;
  void conclude(const Common& common);
  void conclude_early();
  void start_reduction();
  void start_exchange();
  void finish_exchange();
  void publish();

  Neighbourhood& hood_;
  Room& room_;
  int ranks_;
  int local_ranks_;
  std::uint64_t number_;
  int parity_;
  Vote* votes_;      ///< of the node's ranks, for this meeting
  int arrived_ = 0;  ///< ranks of the node that are here, as far as was looked
  Phase phase_ = Phase::gathering;
  bool known_ = false;
  bool same_knowledge_ = true;
  bool all_ran_ahead_ = false;
  Outcome early_verdict_;
  std::int32_t objection_ = 0;
  std::int64_t shift_ = 0;
  std::int64_t bytes_between_nodes_ = 0;
  Common common_;  ///< while nodes reduce it
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<Gathering> gathering_;
};

class Closing {
 public:
  Closing(Neighbourhood& hood, Room& room, const Outcome& mine);
  bool poll();
  /// Worst error, lowest end of file, longest time.
  const Outcome& verdict() const { return verdict_; }
  std::int64_t bytes_between_nodes() const { return bytes_between_nodes_; }

 private:
  enum class Phase { gathering, reducing, waiting, done };
  Outcome local_verdict() const;

  Neighbourhood& hood_;
  Room& room_;
  std::uint64_t number_;
  int parity_;
  Phase phase_ = Phase::gathering;
  Outcome verdict_;
  std::int64_t packed_[3] = {};
  std::int64_t bytes_between_nodes_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Counts this rank's arrival at meeting `number`; the last one of the node wakes whoever acts
/// next.
void arrive(Neighbourhood& hood, Room& room, std::atomic<std::uint64_t>& counter,
            std::uint64_t number);
/// Whether all ranks of the node have arrived at meeting `number`.
bool complete(const Neighbourhood& hood, const std::atomic<std::uint64_t>& counter,
              std::uint64_t number);
/// Tests a request of our own.
bool finished(MPI_Request& request);

/// Rings every rank of this node.
void ring_all(Neighbourhood& hood, Room& room);

}  // namespace choir
