// joint_call.hpp: several collective calls, on several files or on one, carried out as one.
//
//   gathering (every file is free) -> opening -> executing all plans -> closing -> done
//   gathering -> ahead -> opening -> done           every rank moved its bytes first: one meeting
//
// The members meet twice, or once, all together, in the room of the first file (the lead), and all
// their exchanges use its cycle buffers and bells: so n files need no more shared memory than one,
// and a waiting rank has one bell to listen to. A member's storage is its own file's. A member that
// fails fails alone: its verdict tells, the others are complete.
//
// Each file's queue holds one member until all are done, so that calls on a file keep their order.
// Parts of one call that overlap in one file are concurrent accesses in the sense of the standard.
//
// Only the thread that advances the lead file touches the members while they run.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/call.hpp"
#include "engine/joint_agreement.hpp"
#include "engine/routes.hpp"

namespace choir {

class JointCall : public std::enable_shared_from_this<JointCall> {
 public:
  struct Part {
    File* file;
    CallRequest request;
  };

  /// Members a joint call led by this file can have.
  static std::size_t capacity(File& lead);
  /// Begins the parts, at least one: the same files in the same order on all ranks, of the same
  /// ranks, reading or writing all. Gives their calls in the same order. `may_run_ahead`: whoever
  /// starts it can wait for storage, so the rank may move its bytes before it meets the others.
  static std::vector<std::shared_ptr<Call>> start(std::vector<Part> parts, bool may_run_ahead);

  /// Joins calls that are held in their files' queues, as few joint calls as the leads' rooms
  /// allow: the same calls on all ranks, the files one after the other, reading or writing all. One
  /// alone is an ordinary call.
  static void join(std::vector<std::shared_ptr<Call>> calls);

  /// Whose polling advances the call.
  File* lead_file() const { return lead_file_; }
  bool led_by(const Call& call) const { return &call == lead_; }
  /// A file's earlier calls are done.
  void member_ready() { ready_.fetch_add(1, std::memory_order_acq_rel); }
  /// Advances, if `asking` is the lead; true if anything happened.
  bool poll(const Call& asking);

 private:
  enum class State { gathering, opening, executing, closing, done };

  bool open();
  std::vector<Outcome> run_ahead(std::vector<Vote>& votes);
  std::vector<std::shared_ptr<const Plan>> plans_ahead(std::uint16_t& strategy);
  void forget_run_ahead();
  void finish_ahead();
  void finish_opening();
  bool execute();
  void close();
  void finish(const std::vector<Outcome>& verdicts);

  // Which plan each member runs.
  std::vector<Call*> live() const;
  PlanInput input_of(Call& member) const;
  void plan_members(const std::vector<Call*>& members);
  std::optional<std::string> fixed_strategy(const std::vector<Call*>& members);
  std::string choose(const std::vector<Call*>& members);
  const std::string& candidate_name(std::size_t candidate) const;
  std::uint64_t signature_of(const std::vector<Call*>& members,
                             std::shared_ptr<PlanEntry> Call::*pattern) const;
  void note_choice(Call& member, const std::string& strategy, std::int64_t planned_ns) const;
  std::optional<std::vector<Plan>> plans_of(const std::vector<Call*>& members,
                                            const std::string& strategy);
  std::optional<Plan> plan_of(Call& member, const std::string& strategy);
  double estimate(const std::vector<Call*>& members, const std::string& strategy);
  void start_tasks(const std::vector<Call*>& members);
  void add_tasks(const std::vector<Call*>& members);

  std::vector<std::shared_ptr<Call>> take_members(std::vector<std::shared_ptr<Call>> members);
  Neighbourhood& hood() const;
  Room& room() const;

  const Call* lead_ = nullptr;
  File* lead_file_ = nullptr;
  std::vector<std::shared_ptr<Call>> members_;  ///< the first is the lead; empty once done
  std::vector<File*> others_;  ///< files whose queue holds a member, but the lead's
  std::atomic<std::size_t> ready_{0};
  State state_ = State::gathering;
  std::optional<JointOpening> opening_;
  std::optional<JointClosing> closing_;
  Routes routes_;  ///< this rank's ways to aggregators
  Tasks chain_;    ///< what this rank does with storage, one after the other
  std::size_t next_ = 0;
  bool may_run_ahead_ = false;
  std::string ahead_;  ///< the strategy by which this rank ran ahead; empty: it did not

  std::string reason_;
};

}  // namespace choir
