#include "engine/joint_call.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/direct.hpp"
#include "engine/file.hpp"
#include "engine/mapped.hpp"
#include "engine/seats.hpp"
#include "multi/joint_plan.hpp"
#include "select/signature.hpp"

namespace choir {
namespace {

constexpr const char* by_estimate = "the best estimate; calls on many files are not compared";

constexpr const char* assigned = "assigned";
/// Tags of messages tell this many aggregators apart.
constexpr std::size_t most_aggregators = 8192;

/// Plans that need nothing of the room but cycle buffers.
bool joinable(const Plan& plan) {
  switch (plan.exchange) {
    case Exchange::none:
      return plan.concurrent == 0;
    case Exchange::mapped:
      return true;
    case Exchange::windows:
      return plan.relay_of_node.empty();
    default:
      return false;
  }
}

/// One file may be open several times.
bool same_file(File& a, File& b) {
  return a.facts().device == b.facts().device && a.facts().inode == b.facts().inode;
}

}  // namespace

std::size_t JointCall::capacity(File& lead) {
  return std::min<std::size_t>(joint_capacity(lead.hood(), lead.room()), 256);
}

std::vector<std::shared_ptr<Call>> JointCall::start(std::vector<Part> parts, bool may_run_ahead) {
  const auto joint = std::make_shared<JointCall>();
  joint->may_run_ahead_ = may_run_ahead;
  std::vector<std::shared_ptr<Call>> members;
  members.reserve(parts.size());
  for (auto& part : parts)
    members.push_back(std::make_shared<Call>(*part.file, std::move(part.request), joint));
  auto first_of_file = joint->take_members(members);
  // The lead last: it begins at once if all others are free.
  for (std::size_t i = first_of_file.size(); i-- > 0;) {
    auto& file = first_of_file[i]->file();
    file.enter(std::move(first_of_file[i]));
  }
  return members;
}

/// Gives the first member of each file.
std::vector<std::shared_ptr<Call>> JointCall::take_members(
    std::vector<std::shared_ptr<Call>> members) {
  members_ = std::move(members);
  lead_ = members_.front().get();
  lead_file_ = &members_.front()->file();
  std::vector<std::shared_ptr<Call>> first_of_file;
  for (auto& member : members_) {
    auto* const file = &member->file();
    const bool seen = file == lead_file_
                          ? !first_of_file.empty()
                          : std::find(others_.begin(), others_.end(), file) != others_.end();
    if (seen) continue;
    if (file != lead_file_) others_.push_back(file);
    first_of_file.push_back(member);
  }
  return first_of_file;
}

void JointCall::join(std::vector<std::shared_ptr<Call>> calls) {
  std::size_t next = 0;
  while (next < calls.size()) {
    const auto most = std::max<std::size_t>(1, capacity(calls[next]->file()));
    const auto end = std::min(calls.size(), next + most);
    std::vector<std::shared_ptr<Call>> members(calls.begin() + static_cast<std::ptrdiff_t>(next),
                                               calls.begin() + static_cast<std::ptrdiff_t>(end));
    next = end;
    if (members.size() > 1) {
      const auto joint = std::make_shared<JointCall>();
      joint->may_run_ahead_ = true;
      joint->take_members(members);
      for (auto& member : members) member->joint_ = joint;
    }
    // From here on other threads may carry them out.
    for (auto& member : members) member->held_.store(false, std::memory_order_release);
  }
}

Neighbourhood& JointCall::hood() const { return members_.front()->file().hood(); }
Room& JointCall::room() const { return members_.front()->file().room(); }

bool JointCall::poll(const Call& asking) {
  if (!led_by(asking)) return false;
  switch (state_) {
    case State::gathering:
      // Nobody else may be looking at a file whose earlier calls are done.
      for (auto* file : others_) file->poll();
      return ready_.load(std::memory_order_acquire) == others_.size() + 1 && open();
    case State::opening:
      if (!opening_->poll()) return false;
      finish_opening();
      return true;
    case State::executing:
      return execute();
    case State::closing:
      if (!closing_->poll()) return false;
      finish(closing_->verdicts());
      return true;
    case State::done:
      return false;
  }
  return false;
}

bool JointCall::open() {
  std::vector<Ballot> ballots;
  std::vector<Vote> votes(members_.size());
  for (std::size_t m = 0; m < members_.size(); ++m)
    ballots.push_back(members_[m]->ballot(votes[m]));
  for (auto& member : members_) member->number_ = room().calls;
  const auto early = run_ahead(votes);
  opening_.emplace(hood(), room(), ballots, votes, early);
  state_ = State::opening;
  if (opening_->poll()) finish_opening();
  return true;
}

/// The plan of each member by the strategy that will be chosen if everyone asks as before; empty if
/// that is not known yet, or needs other ranks. `strategy`: its number, from 1.
std::vector<std::shared_ptr<const Plan>> JointCall::plans_ahead(std::uint16_t& strategy) {
  std::vector<Call*> members;
  for (auto& member : members_) {
    if (!member->may_run_ahead()) return {};
    members.push_back(member.get());
  }
  auto& lead = members_.front()->file_;
  ahead_.clear();
  strategy = 1;
  if (const auto fixed = fixed_strategy(members)) {
    ahead_ = *fixed;
  } else {
    const auto& before = lead.joined_choices();
    const auto found = before.find(signature_of(members, &Call::guess_));
    if (found == before.end()) return {};
    ahead_ = candidate_name(found->second);
    strategy = static_cast<std::uint16_t>(found->second + 2);
  }
  std::vector<std::shared_ptr<const Plan>> plans;
  for (auto* member : members) {
    const auto row = member->file_.strategies().find(ahead_);
    auto plan = row ? member->guess_->kept(member->file_.plan_key(*row)) : nullptr;
    if (!plan || !plan->independent() || plan->requests == Requests::sieve) return {};
    plans.push_back(std::move(plan));
  }
  return plans;
}

/// As Call::run_ahead, for all members: moves this rank's bytes and gives the outcomes to bring to
/// the opening; nothing if the ranks have to meet first.
std::vector<Outcome> JointCall::run_ahead(std::vector<Vote>& votes) {
  std::uint16_t strategy = 0;
  if (!may_run_ahead_) return {};
  const auto plans = plans_ahead(strategy);
  if (plans.empty()) {
    ahead_.clear();
    return {};
  }
  const auto begun_ns = now_ns();
  std::vector<Call*> members;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    auto& member = *members_[m];
    member.plan_ = plans[m];
    member.make_context(hood(), room(), 0, {member.guess_->ranks}, member.guess_->grain);
    members.push_back(&member);
  }
  add_tasks(members);
  for (auto& task : chain_)
    while (!task->done()) task->poll();
  std::vector<Outcome> outcomes;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    members_[m]->executed_ns_ = now_ns();
    outcomes.push_back(members_[m]->outcome(begun_ns));
    votes[m].ran_ahead = strategy;
  }
  return outcomes;
}

/// In vain: somebody asks otherwise, and the bytes are moved again, which is harmless: they are
/// this rank's own.
void JointCall::forget_run_ahead() {
  ahead_.clear();
  chain_.clear();
  for (auto& member : members_) {
    ++member->guess_->vain_runs_ahead;
    member->context_.reset();
    member->plan_.reset();
  }
}

/// Everyone ran ahead: what is left is to take note.
void JointCall::finish_ahead() {
  const auto all = live();
  reason_ = fixed_strategy(all) ? "set" : by_estimate;
  for (std::size_t m = 0; m < all.size(); ++m) {  // nobody has failed: all are members_
    auto* const member = all[m];
    member->shift_ = opening_->members()[m].shift;
    member->ran_ahead_ = true;
    member->plan_was_known_ = true;
    member->pattern_ = member->guess_;
    ++hood().plans().hits;
    note_choice(*member, ahead_, member->opened_ns_);
  }
  finish(opening_->early_verdicts());
}

/// Members nobody brought an error for.
std::vector<Call*> JointCall::live() const {
  std::vector<Call*> members;
  for (std::size_t m = 0; m < members_.size(); ++m)
    if (opening_->members()[m].error == 0) members.push_back(members_[m].get());
  return members;
}

void JointCall::finish_opening() {
  const auto opened_ns = now_ns();
  const auto& agreed = opening_->members();
  for (auto& member : members_) member->opened_ns_ = opened_ns;
  if (opening_->all_ran_ahead()) {
    finish_ahead();
    return;
  }
  if (!ahead_.empty()) forget_run_ahead();
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (agreed[m].error != 0) continue;
    members_[m]->learn_pattern({agreed[m].known, agreed[m].shift, opening_->ballots(m)});
  }
  const auto members = live();
  if (!members.empty()) {
    plan_members(members);
    start_tasks(members);
  }
  state_ = State::executing;
  execute();
}

PlanInput JointCall::input_of(Call& member) const {
  auto parameters = member.file_.parameters();
  const auto capacity = room().arena->shape().capacity;
  parameters.cycle_bytes = std::min(parameters.cycle_bytes, capacity);
  parameters.most_cycle_bytes = std::min(parameters.most_cycle_bytes, capacity);
  return {hood().topology(), member.plan_input().ranks, parameters,
          members_.front()->file_.seats() - 1};
}

/// Strategies that are set, by the user for multi-collectives or for one of the files; one name for
/// all, or nothing: to be chosen.
std::optional<std::string> JointCall::fixed_strategy(const std::vector<Call*>& members) {
  const auto& wish = members_.front()->file_.settings().multi_strategy;
  if (wish != "auto") return wish;
  for (auto* member : members)
    if (const auto row = member->file_.fixed_row(member->request_.operation))
      return member->file_.strategies().rows()[static_cast<std::size_t>(*row)].name;
  return std::nullopt;
}

double JointCall::estimate(const std::vector<Call*>& members, const std::string& strategy) {
  // An assigned file is served like two_phase's, by fewer aggregators.
  const auto& name = strategy == assigned ? "two_phase" : strategy;
  double sum = 0;
  for (auto* member : members) {
    const auto row = member->file_.strategies().find(name);
    if (!row) return not_applicable;
    const auto& entry = member->file_.strategies().rows()[static_cast<std::size_t>(*row)];
    sum += entry.estimate_s(input_of(*member), member->situation_of(*member->pattern_));
  }
  // On striped files its aggregators meet at the same servers.
  const bool striped = members.front()->file_.parameters().stripe_servers > 0;
  if (strategy == assigned) return (striped ? 1.05 : 0.99) * sum;
  if (!std::isfinite(sum) || !plan_of(*members.front(), strategy)) return not_applicable;
  return sum;
}

std::uint64_t JointCall::signature_of(const std::vector<Call*>& members,
                                      std::shared_ptr<PlanEntry> Call::*pattern) const {
  const bool writing = members_.front()->request_.operation == Operation::write;
  select::Signature signature;
  signature.add(static_cast<std::int64_t>(members.size())).add(writing ? 1 : 0);
  for (const auto* member : members)
    signature.add(static_cast<std::int64_t>((member->*pattern)->shape.number()))
        .add((member->*pattern)->total_bytes);
  return signature.value();
}

/// The lead's strategies, then `assigned`.
const std::string& JointCall::candidate_name(std::size_t candidate) const {
  static const std::string last = assigned;
  auto& lead = members_.front()->file_;
  if (candidate >= lead.candidates().size()) return last;
  return lead.strategies().rows()[static_cast<std::size_t>(lead.candidates()[candidate])].name;
}

/// The best estimate: what is known of single calls says nothing of `assigned`, and joined calls
/// wait for each other too much to be compared.
std::string JointCall::choose(const std::vector<Call*>& members) {
  auto& lead = members_.front()->file_;
  std::size_t best = lead.candidates().size();
  double least = estimate(members, candidate_name(best));
  for (std::size_t i = 0; i < lead.candidates().size(); ++i) {
    const double one = estimate(members, candidate_name(i));
    if (one < least) best = i, least = one;
  }
  reason_ = by_estimate;
  lead.joined_choices()[signature_of(members, &Call::pattern_)] = best;
  return candidate_name(best);
}

std::optional<Plan> JointCall::plan_of(Call& member, const std::string& strategy) {
  const auto row = member.file_.strategies().find(strategy);
  if (!row) return std::nullopt;
  const auto in = input_of(member);
  const auto& entry = member.file_.strategies().rows()[static_cast<std::size_t>(*row)];
  if (!std::isfinite(entry.estimate_s(in, member.situation_of(*member.pattern_))))
    return std::nullopt;
  const auto own = member.plan_input();
  const bool as_alone = in.parameters == own.parameters && in.seats_per_node == own.seats_per_node;
  Plan plan = as_alone ? *member.plan_for(*row) : entry.plan(in);
  if (!joinable(plan)) return std::nullopt;
  return plan;
}

/// Nothing if the strategy cannot serve all members together.
std::optional<std::vector<Plan>> JointCall::plans_of(const std::vector<Call*>& members,
                                                     const std::string& strategy) {
  std::vector<Plan> plans;
  std::size_t aggregators = 0;
  for (auto* member : members) {
    auto plan = plan_of(*member, strategy);
    if (!plan) return std::nullopt;
    aggregators += plan->aggregators.size();
    plans.push_back(std::move(*plan));
  }
  const int seats = members_.front()->file_.seats() - 1;
  if (aggregators > most_aggregators || !multi::seat_together(plans, hood().topology(), seats))
    return std::nullopt;
  return plans;
}

/// Holes are read and written back only where no other member may be writing into them.
void keep_holes(const std::vector<Call*>& members, std::vector<Plan>& plans,
                const std::vector<Extent>& spans) {
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = 0; b < members.size(); ++b)
      if (a != b && same_file(members[a]->file(), members[b]->file()) &&
          !intersect(spans[a], spans[b]).empty() && plans[a].requests == Requests::sieve)
        plans[a].requests = Requests::list;
}

void JointCall::plan_members(const std::vector<Call*>& members) {
  for (auto* member : members) member->class_ = member->class_of(*member->pattern_, member->shift_);
  auto strategy = fixed_strategy(members);
  if (strategy)
    reason_ = "set";
  else
    strategy = choose(members);
  std::optional<std::vector<Plan>> plans;
  if (*strategy != assigned) {
    plans = plans_of(members, *strategy);
    if (!plans) {
      reason_ = *strategy + " cannot serve many files at once";
      strategy = assigned;
    }
  }
  if (!plans) {
    std::vector<PlanInput> inputs;
    inputs.reserve(members.size());
    for (auto* member : members) inputs.push_back(input_of(*member));
    plans = multi::plan_assigned(inputs);
  }
  if (members_.front()->request_.operation == Operation::write) {
    std::vector<Extent> spans;
    spans.reserve(members.size());
    for (auto* member : members) spans.push_back(member->pattern_->span_at(member->shift_));
    keep_holes(members, *plans, spans);
  }
  const auto planned_ns = now_ns();
  for (std::size_t m = 0; m < members.size(); ++m) {
    members[m]->plan_ = std::make_shared<const Plan>(std::move((*plans)[m]));
    note_choice(*members[m], *strategy, planned_ns);
  }
}

void JointCall::note_choice(Call& member, const std::string& strategy,
                            std::int64_t planned_ns) const {
  member.planned_ns_ = planned_ns;
  member.joint_strategy_ = strategy;
  member.reason_ = reason_;
  member.fixed_ = reason_ == "set";
  member.class_ = member.class_of(*member.pattern_, member.shift_);
  member.class_.files = static_cast<int>(members_.size());
}

void JointCall::start_tasks(const std::vector<Call*>& members) {
  std::size_t first_aggregator = 0;
  for (auto* member : members) {
    member->make_context(hood(), room(), first_aggregator, member->ranks(), member->grain());
    first_aggregator += member->plan_->aggregators.size();
  }
  add_tasks(members);
}

void JointCall::add_tasks(const std::vector<Call*>& members) {
  // Ranks that do their own I/O begin with different files, so that they do not queue for one
  // file's lock.
  const auto turn = members.size() * static_cast<std::size_t>(hood().rank()) /
                    static_cast<std::size_t>(hood().topology().ranks());
  for (std::size_t i = 0; i < members.size(); ++i) {
    auto& context = *members[(i + turn) % members.size()]->context_;
    if (context.plan.exchange == Exchange::none) add_direct(context, chain_);
    if (context.plan.exchange == Exchange::mapped) add_mapped(context, chain_);
  }
  std::vector<Context*> gathered;
  for (auto* member : members)
    if (member->plan_->exchange == Exchange::windows) gathered.push_back(&*member->context_);
  for (auto* context : gathered) routes_.add(*context);
  add_seats(gathered, chain_);
}

bool JointCall::execute() {
  bool advanced = false;
  if (routes_.poll()) advanced = true;
  while (next_ < chain_.size()) {
    if (chain_[next_]->poll()) advanced = true;
    if (!chain_[next_]->done()) break;
    ++next_;
    advanced = true;
  }
  if (!routes_.done() || next_ < chain_.size()) return advanced;
  close();
  return true;
}

void JointCall::close() {
  const auto executed_ns = now_ns();
  std::vector<Outcome> outcomes;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    members_[m]->executed_ns_ = executed_ns;
    outcomes.push_back(opening_->members()[m].error != 0
                           ? Outcome{}
                           : members_[m]->outcome(members_[m]->opened_ns_));
  }
  closing_.emplace(hood(), room(), outcomes);
  state_ = State::closing;
  if (closing_->poll()) finish(closing_->verdicts());
}

void JointCall::finish(const std::vector<Outcome>& verdicts) {
  routes_.clear();
  chain_.clear();
  state_ = State::done;
  const auto members = std::move(members_);  // they own us: this ends the circle
  members_.clear();
  for (std::size_t m = members.size(); m-- > 0;) {
    members[m]->joint_agreement_bytes_ = opening_->members()[m].bytes_between_nodes +
                                         (closing_ ? closing_->bytes_between_nodes() : 0);
    if (const int error = opening_->members()[m].error; error != 0)
      members[m]->finish(error);
    else
      members[m]->take_verdict(verdicts[m]);
  }
}

}  // namespace choir
