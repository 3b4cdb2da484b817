// call.hpp: one collective call, from what a rank asks to what it is told.
//
//   queued -> opening (who asks for what) -> executing a plan -> closing (did anyone fail) -> done
//
// A blocking call is start + wait, a nonblocking one start now + poll later; both are this.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "engine/agreement.hpp"
#include "engine/objection.hpp"
#include "engine/task.hpp"
#include "plan/strategy.hpp"
#include "select/chooser.hpp"

namespace choir {

class File;
class JointCall;

/// What the program asked for.
struct CallRequest {
  Operation operation = Operation::write;
  std::string_view name;  ///< "write_all", ...
  Access access;
  Memory memory;
  int error = 0;              ///< an MPI error class this rank already found in its arguments
  bool may_use_host = false;  ///< a blocking call can be handed to the host MPI
  /// Why the host MPI has to make this call, on all ranks; only where it may be used.
  trace::Left left = trace::Left::no;
  /// Bytes that the host MPI has moved already, for a call that cannot be left to it. The access is
  /// empty then.
  std::int64_t moved_by_host = 0;
};

/// What all ranks know once a call is open.
struct Opened {
  bool known = false;  ///< every rank named the same cached plan with the same shift
  std::int64_t shift = 0;
  std::span<const Ballot> ballots;  ///< of all ranks, if the plan is not known
};

class Call {
 public:
  /// A call with `joint` is a member of it: it agrees and runs together with the others.
  Call(File& file, CallRequest request, std::shared_ptr<JointCall> joint = nullptr);
  ~Call();

  /// Before it enters its file's queue: it waits there until a joiner starts it.
  void hold() { held_ = true; }
  /// Advances as far as possible without waiting; true if anything happened.
  bool poll();
  bool done() const { return state_ == State::done; }
  /// The plan is the host MPI's own collective: whoever waits must make that call and then say how
  /// it went.
  bool wants_host() const { return state_ == State::host; }
  void host_finished(int error_class, std::int64_t bytes);

  const CallRequest& request() const { return request_; }
  /// After done(): an MPI error class, equal on all ranks; 0 is success.
  int error() const { return error_; }
  /// After done(): bytes this rank got or gave.
  std::int64_t bytes() const { return bytes_; }
  File& file() { return file_; }

 private:
  friend class JointCall;
  enum class State { queued, joined, opening, executing, host, closing, done };

  bool begin();
  bool finish_opening();
  bool execute();
  bool start_closing();
  bool finish_closing();
  void finish(int error_class);

  Ballot ballot(Vote& vote);
  select::ClassKey class_of(const PlanEntry& pattern, std::int64_t shift) const;
  Situation situation_of(const PlanEntry& pattern) const;
  std::optional<int> expected_row(std::int64_t shift);
  bool host_is_right(const PlanEntry& pattern, std::int64_t shift) const;
  std::optional<int> chosen_row(const PlanEntry& pattern, std::int64_t shift);
  bool may_serve(const Strategy& strategy, const PlanInput& in, const Situation& situation) const;
  std::shared_ptr<const Plan> plan_ahead(int row) const;
  std::vector<select::Contender> contenders_for(const PlanInput& in,
                                                const Situation& situation) const;
  /// Whether this rank may move its bytes before it knows what the others ask.
  bool may_run_ahead() const;
  void run_ahead(Vote& vote);
  void finish_ahead(const Outcome& verdict);
  void learn_pattern(const Opened& opened);
  /// Everyone's request, where it is.
  Summaries ranks() const { return {pattern_->ranks, shift_}; }
  /// Offsets have moved with the pattern, and their common divisor with them.
  std::int64_t grain() const { return pattern_->grain | shift_; }
  /// For plans of everyone's request where it was first seen, and where it is.
  PlanInput input_for(const PlanEntry& pattern) const;
  PlanInput plan_input();
  int choose();
  int choose_fixed(int row);
  void note_time(const Outcome& verdict);
  std::shared_ptr<const Plan> plan_for(int row);
  /// Where the call runs: its own file's room, or that of the joint call it belongs to.
  void make_context(Neighbourhood& hood, Room& room, std::size_t first_aggregator,
                    const Summaries& ranks, std::int64_t grain);
  void add_tasks();
  void start_tasks();
  Outcome outcome(std::int64_t since_ns) const;
  bool take_verdict(const Outcome& verdict);
  void witness();
  std::string_view strategy() const;

  File& file_;
  CallRequest request_;
  std::shared_ptr<JointCall> joint_;
  std::atomic<bool> held_{false};            ///< `joint_` may still be set
  std::atomic<State> state_{State::queued};  ///< done() is asked by threads that do not poll
  int error_ = 0;
  trace::Left left_ = trace::Left::no;  ///< to the host, since a rank wants it
  std::int64_t bytes_ = 0;

  std::uint64_t number_ = 0;
  std::optional<Opening> opening_;
  std::optional<Closing> closing_;
  std::shared_ptr<PlanEntry> guess_;    ///< what everyone asks if it is as before; may be null
  std::shared_ptr<PlanEntry> pattern_;  ///< everyone's request, at the place it was first seen
  std::vector<RankSummary> moved_;  ///< everyone's request, here, if plan_input() had to copy it
  std::int64_t shift_ = 0;
  std::shared_ptr<const Plan> plan_;
  std::optional<Context> context_;
  Tasks tasks_;
  bool plan_was_known_ = false;
  std::int64_t joint_agreement_bytes_ =
      0;                    ///< of a member: between nodes, as Opening and Closing count
  bool ran_ahead_ = false;  ///< this rank has moved its bytes before the opening

  // What was chosen and how long it took, for the selector and the trace.
  int row_ = -1;                ///< of the file's strategy table
  std::string joint_strategy_;  ///< instead of a row, in a joint call
  select::ClassKey class_;
  select::Decision decision_;
  bool fixed_ = false;  ///< the user's strategy serves, or what takes its place
  std::string reason_;
  std::int64_t started_ns_ = 0, opened_ns_ = 0, planned_ns_ = 0, executed_ns_ = 0;
};

}  // namespace choir
