// joint_agreement.hpp: the two points where all ranks meet, for several calls at once.
//
// As agreement.hpp, but a rank brings one ballot (or outcome) per member call, and everyone meets
// once for all of them: one arrival inside the node, one reduction between nodes. The meeting place
// is the lead file's room; the ballots lie in the cycle buffers of its last seat, which only relays
// use, and joint calls have none.
//
//   buffer 0: outcomes [member][local rank], then verdicts [member] of the node's leader
//   buffer 1: ballots [member][rank], votes and early outcomes [member][local rank]; twice, for
//   calls
//             of even and odd number
//
// A rank arrives at a meeting only when it has read everything of the one before. A call whose
// ranks all ran ahead has an opening only, and a fast rank may bring its next ballots while a slow
// one still reads these: hence the two halves. Closings have an opening between them.
#pragma once

#include <span>
#include <vector>

#include "engine/agreement.hpp"

namespace choir {

/// Members a joint call in this room can have; 0: none, its cycle buffers are too small.
std::size_t joint_capacity(const Neighbourhood& hood, const Room& room);

/// What the ranks agreed on at the opening of one member.
struct MemberOpening {
  bool known = false;  ///< every rank named the same cached plan with the same shift
  int error = 0;       ///< the error class of a rank that brought one; 0: none
  std::int64_t shift = 0;
  /// What this rank put into reductions and gatherings between nodes for it; 0 for all but leaders.
  std::int64_t bytes_between_nodes = 0;
};

class JointOpening {
 public:
  /// A ballot and a vote per member, in the same order on all ranks. `early` has how it went for a
  /// rank that has moved its bytes already, or is empty.
  JointOpening(Neighbourhood& hood, Room& room, std::span<const Ballot> mine,
               std::span<const Vote> votes, std::span<const Outcome> early);
  bool poll();
  const std::vector<MemberOpening>& members() const { return members_; }
  /// Everyone's ballots for a member, in rank order; valid until the call closes. With several
  /// nodes, not filled for members that are known.
  std::span<const Ballot> ballots(std::size_t member) const;
  /// Every rank has moved the bytes of every member already, by the same strategy and for plans all
  /// of them know.
  bool all_ran_ahead() const { return !early_verdicts_.empty(); }
  /// How that went, per member: worst error, lowest end of file, longest time.
  const std::vector<Outcome>& early_verdicts() const { return early_verdicts_; }

 private:
  /// What the nodes reduce, per member: equal minimum and maximum mean that all agree.
  struct Common {
    std::int64_t low_name, low_negated_name, low_shift, low_negated_shift, negated_objection;
  };
  enum class Phase { gathering, reducing, exchanging, waiting, done };

  Ballot* table(std::size_t member) const;
  Vote* votes(std::size_t member) const;
  Outcome* early_outcomes(std::size_t member) const;
  bool everyone_ran_ahead() const;
  void conclude_early();
  Common local_common(std::size_t member) const;
  void conclude();
  void start_reduction();
  void start_exchange();
  void finish_exchange();
  void publish();
  void adopt();

  Neighbourhood& hood_;
  Room& room_;
  std::uint64_t number_;
  Phase phase_ = Phase::gathering;
  std::vector<MemberOpening> members_;
  std::vector<Outcome> early_verdicts_;
  std::vector<Common> common_;
  std::vector<std::size_t> unknown_;  ///< members whose ballots the nodes exchange
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<Ballot> sent_, received_;
  std::vector<int> counts_, places_;
};

class JointClosing {
 public:
  JointClosing(Neighbourhood& hood, Room& room, std::span<const Outcome> mine);
  bool poll();
  /// Per member: worst error, lowest end of file, longest time.
  const std::vector<Outcome>& verdicts() const { return verdicts_; }
  /// For each member what this rank put into the reduction between nodes; 0 for all but leaders.
  std::int64_t bytes_between_nodes() const { return bytes_between_nodes_; }

 private:
  enum class Phase { gathering, reducing, waiting, done };
  void gather();
  void start_reduction();
  void publish();

  Neighbourhood& hood_;
  Room& room_;
  std::uint64_t number_;
  Phase phase_ = Phase::gathering;
  std::vector<Outcome> verdicts_;
  std::vector<std::int64_t> packed_;
  std::int64_t bytes_between_nodes_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace choir
