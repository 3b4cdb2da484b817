#include "engine/call.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <limits>

#include "engine/direct.hpp"
#include "engine/file.hpp"
#include "engine/joint_call.hpp"
#include "engine/lane.hpp"
#include "engine/mapped.hpp"
#include "engine/seats.hpp"
#include "engine/slots.hpp"
#include "select/signature.hpp"

namespace choir {
namespace {

constexpr std::int64_t page = 4096;
/// Of a signature; those below it are the operation and whether the host may serve.
constexpr std::uint64_t new_ground_bit = 4;

double seconds(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

/// What identifies a pattern wherever it lies: every rank's ballot relative to the lowest offset.
std::uint64_t key_of(std::span<const Ballot> ballots) {
  std::int64_t lowest = INT64_MAX;
  for (const auto& ballot : ballots)
    if (ballot.bytes > 0) lowest = std::min(lowest, ballot.low);
  std::uint64_t sum = 0;
  for (std::size_t rank = 0; rank < ballots.size(); ++rank) {
    const auto& ballot = ballots[rank];
    select::Signature one;
    one.add(static_cast<std::int64_t>(rank))
        .add(static_cast<std::int64_t>(ballot.hash))
        .add(ballot.bytes);
    if (ballot.bytes > 0) one.add(ballot.low - lowest).add(ballot.high - ballot.low);
    sum += one.value();
  }
  return sum | 2;  // never 0, also without its lowest bit
}

/// The finest grain of the requests and of the plan's windows.
std::int64_t common_grain(std::int64_t grain, const Plan& plan) {
  auto bits = static_cast<std::uint64_t>(grain | plan.cycle_bytes);
  for (const auto& aggregator : plan.aggregators) {
    bits |= static_cast<std::uint64_t>(aggregator.domain.offset);
    if (aggregator.domain.count > 1)
      bits |= static_cast<std::uint64_t>(aggregator.domain.length | aggregator.domain.stride);
  }
  return std::int64_t{1} << std::countr_zero(bits);
}

/// Whether a plan can be moved as it is: cuts stay where pages and stripes begin.
bool keeps_alignment(std::int64_t shift, const Parameters& parameters) {
  const auto period = parameters.stripe_unit > 0
                          ? parameters.stripe_unit * std::max(1, parameters.stripe_servers)
                          : page;
  return shift % period == 0 && shift % page == 0;
}

}  // namespace

Call::Call(File& file, CallRequest request, std::shared_ptr<JointCall> joint)
    : file_(file), request_(std::move(request)), joint_(std::move(joint)), started_ns_(now_ns()) {}
Call::Call(File& file, CallRequest request, Ahead ahead)
    : file_(file),
      request_(std::move(request)),
      state_(State::opening),
      number_(ahead.number),
      guess_(std::move(ahead.track.entry)),
      plan_(std::move(ahead.track.plan)),
      ran_ahead_(true),
      row_(ahead.track.row),
      started_ns_(now_ns()) {
  opening_.emplace(std::move(ahead.opening));
  executed_ns_ = started_ns_;
}
Call::~Call() = default;

bool Call::poll() {
  switch (state_) {
    case State::queued:
      if (held_.load(std::memory_order_acquire)) return false;
      if (!joint_) return begin();
      state_ = State::joined;  // before it is known: the joint call may finish at once
      file_.set_leader(joint_->lead_file());
      joint_->member_ready();
      return true;
    case State::joined:
      return joint_->poll(*this);
    case State::opening:
      return opening_->poll() && finish_opening();
    case State::executing:
      return execute();
    case State::closing:
      return closing_->poll() && finish_closing();
    case State::host:
    case State::done:
      return false;
  }
  return false;
}

Ballot Call::ballot(Vote& vote) {
  vote.error = request_.error;
  if (request_.error != 0) return {};
  const auto& access = request_.access;
  if (file_.settings().plan_cache_bytes > 0) guess_ = file_.hood().plans().find(access);
  const auto mine =
      ballot_of(access, guess_ ? guess_->ranks[static_cast<std::size_t>(file_.hood().rank())].shape
                        : access.bytes() > 0 ? shape_of(access)
                                             : Shape{});
  vote.asks = mine.bytes > 0;
  if (guess_) {
    vote.plan_key = guess_->key;
    vote.shift = mine.low - guess_->low;
  }
  return mine;
}

/// What the calls before this one have left where it goes; a fixed strategy does not ask.
void Call::look_at_ground(const PlanEntry& pattern, std::int64_t shift) {
  ground_ = {};
  span_ = {};
  if (joint_ || pattern.span.empty() || file_.fixed_row(request_.operation)) return;
  span_ = {pattern.span.begin + shift, pattern.span.end + shift};
  ground_ = file_.ground(request_.operation, span_);
}

/// New ground is a pattern of its own: blocks must be found, and who is fastest there need not be
/// so where the program writes again.
std::uint64_t Call::signature_of(const PlanEntry& pattern) const {
  return pattern.signature + (request_.operation == Operation::write ? 1U : 0U) +
         (request_.may_use_host ? 2U : 0U) + (ground_.is_new ? new_ground_bit : 0U);
}

Situation Call::situation_of(const PlanEntry& pattern) const {
  return {pattern.pieces,
          request_.operation == Operation::write,
          file_.facts().local_file_system && file_.settings().fault.empty(),
          (file_.facts().mode & MPI_MODE_WRONLY) == 0,
          ground_.is_new,
          ground_.prepared};
}

/// The strategy of this call if everyone asks as before; nothing while it is still being chosen.
std::optional<int> Call::expected_row() {
  if (const auto fixed = file_.fixed_row(request_.operation)) {
    const auto& row = file_.strategies().rows()[static_cast<std::size_t>(*fixed)];
    const PlanInput in{file_.hood().topology(), guess_->ranks, file_.parameters(),
                       file_.seats() - 1};
    return std::isfinite(row.estimate_s(in, situation_of(*guess_))) ? fixed : std::nullopt;
  }
  const int candidate = expected_candidate();
  if (candidate < 0) return std::nullopt;
  return file_.candidates()[static_cast<std::size_t>(candidate)];
}

/// What the selector will say; -1 where a rank cannot know. While candidates are examined that
/// takes everyone's place in the file, which a rank without bytes there does not know.
int Call::expected_candidate() {
  const auto signature = signature_of(*guess_);
  const int settled = file_.selector().settled(signature, ground_.is_new || ground_.prepared);
  if (settled >= 0) return settled;
  if (std::any_of(guess_->ranks.begin(), guess_->ranks.end(),
                  [](const RankSummary& rank) { return rank.empty(); }))
    return -1;
  offered_ = candidates_for({file_.hood().topology(), guess_->ranks, file_.parameters(),
                             file_.seats() - 1},
                            situation_of(*guess_));
  return file_.selector().peek(signature, offered_);
}

/// The plan by which this rank may move its bytes before it knows what the others ask; null: it
/// may not.
std::shared_ptr<const Plan> Call::plan_ahead(int row) const {
  const auto& strategy = file_.strategies().rows()[static_cast<std::size_t>(row)];
  auto kept = guess_->kept(strategy.name, file_.plan_suffix());
  if (!kept && strategy.alone) {
    kept = std::make_shared<const Plan>(strategy.plan(
        {file_.hood().topology(), guess_->ranks, file_.parameters(), file_.seats() - 1}));
    guess_->keep(strategy.name, file_.plan_suffix(), kept);
  }
  return kept && kept->independent() ? kept : nullptr;
}

bool Call::may_run_ahead() const {
  return guess_ && file_.hood().one_node() && request_.error == 0 &&
         request_.access.bytes() <= most_bytes_ahead &&
         guess_->vain_runs_ahead <= most_vain_runs_ahead;
}

/// A pattern seen before and a strategy that needs no other rank: this rank moves its bytes first,
/// and one meeting of the ranks serves for opening and closing the call.
void Call::run_ahead(Vote& vote) {
  if (!request_.may_use_host || !may_run_ahead()) return;
  look_at_ground(*guess_, vote.shift);
  const auto row = expected_row();
  if (!row) return;
  plan_ = plan_ahead(*row);
  if (!plan_) return;
  row_ = *row;
  make_context(file_.hood(), file_.room(), 0, guess_->ranks, guess_->grain);
  add_tasks();
  for (auto& task : tasks_)
    while (!task->done()) task->poll();
  executed_ns_ = now_ns();
  vote.ran_ahead = static_cast<std::uint16_t>(row_ + 1);
  vote.set_early(outcome(started_ns_));
  ran_ahead_ = true;
}

bool Call::begin() {
  number_ = file_.room().calls;
  Vote vote;
  const auto mine = ballot(vote);
  run_ahead(vote);
  opening_.emplace(file_.hood(), file_.room(), mine, vote);
  state_ = State::opening;
  if (opening_->poll()) finish_opening();
  return true;
}

/// Finds or makes the entry that says what everyone asks for.
void Call::learn_pattern(const Opened& opened) {
  auto& cache = file_.hood().plans();
  if (opened.known) {
    pattern_ = guess_;
    plan_was_known_ = pattern_ != nullptr;
  }
  if (plan_was_known_) {
    ++cache.hits;
    if (opened.shift == 0) return;
    shift_ = opened.shift;
    shifted_ = pattern_->ranks;
    for (auto& rank : shifted_) rank.low += shift_, rank.high += shift_;
    return;
  }
  ++cache.misses;
  const auto ballots = opened.ballots;
  pattern_ = std::make_shared<PlanEntry>();
  pattern_->key = key_of(ballots);
  pattern_->bytes = request_.access.bytes();
  pattern_->low = ballots[static_cast<std::size_t>(file_.hood().rank())].low;
  if (pattern_->bytes > 0) {
    pattern_->tile = request_.access.file.tile;
    pattern_->begin_in_tile = request_.access.begin % pattern_->tile->bytes();
  }
  pattern_->grain = page;
  std::uint64_t sum = 0;
  for (const auto& one : ballots) {
    const auto pieces = static_cast<std::int64_t>(one.pieces);
    pattern_->ranks.push_back(one.summary());
    pattern_->pieces += pieces;
    if (one.bytes > 0) pattern_->add(pattern_->ranks.back(), one.grain());
    sum += select::Signature()
               .add(one.bytes)
               .add(pieces)
               .add(select::relative_offset(one.low, one.high, one.bytes, pieces))
               .value();
  }
  pattern_->signature = select::combined_signature(sum, static_cast<int>(ballots.size()));
  if (file_.settings().plan_cache_bytes > 0) cache.insert(pattern_);
}

int Call::choose(const PlanInput& in, const Situation& situation) {
  if (const auto fixed = file_.fixed_row(request_.operation)) {
    const auto& row = file_.strategies().rows()[static_cast<std::size_t>(*fixed)];
    const bool host = row.name == "native";
    reason_ = "set";
    if (std::isfinite(row.estimate_s(in, situation)) && (!host || request_.may_use_host))
      return *fixed;
    reason_ = host ? "native cannot serve nonblocking calls" : row.name + " does not apply here";
    return *file_.strategies().find("two_phase");
  }
  const bool prepared = ground_.is_new || ground_.prepared;
  if (file_.selector().settled(signature_, prepared) >= 0)
    return take_choice(file_.selector().serve(signature_));
  if (offered_.empty() || pattern_ != guess_) offered_ = candidates_for(in, situation);
  if (ground_.is_new) inherit_memory();
  const auto choice = file_.selector().next(signature_, offered_);
  if (choice.candidate < 0) return *file_.strategies().find("two_phase");
  file_.note_signature(signature_);
  return take_choice(choice);
}

std::vector<select::Candidate> Call::candidates_for(const PlanInput& in,
                                                    const Situation& situation) const {
  const bool prepared = ground_.is_new || ground_.prepared;
  std::vector<select::Candidate> candidates;
  candidates.reserve(file_.candidates().size());
  for (const int row : file_.candidates()) {
    const auto& strategy = file_.strategies().rows()[static_cast<std::size_t>(row)];
    const bool allowed = strategy.name != "native" || request_.may_use_host;
    candidates.push_back({strategy.name,
                          allowed ? strategy.estimate_s(in, situation) : not_applicable,
                          strategy.warms_up && !prepared, strategy.alone});
  }
  return candidates;
}

/// New ground of which no earlier run told: what served the same pattern elsewhere serves here,
/// unless it lives by what earlier calls prepared.
void Call::inherit_memory() {
  auto& selector = file_.selector();
  const auto* const elsewhere = selector.state(signature_ - new_ground_bit);
  if (selector.state(signature_) != nullptr || elsewhere == nullptr) return;
  const auto row = file_.strategies().find(elsewhere->remembered.name);
  if (row && !file_.strategies().rows()[static_cast<std::size_t>(*row)].warms_up)
    selector.seed(signature_, elsewhere->remembered);
}

/// Takes note of the selector's word; the row it means.
int Call::take_choice(const select::Choice& choice) {
  candidate_ = choice.candidate;
  phase_ = choice.phase;
  reason_ = choice.reason;
  const int row = file_.candidates()[static_cast<std::size_t>(choice.candidate)];
  const bool warms_up = file_.strategies().rows()[static_cast<std::size_t>(row)].warms_up;
  cold_ = warms_up && !ground_.is_new && !ground_.prepared;
  file_.note_ground(request_.operation, span_, row);
  return row;
}

std::shared_ptr<const Plan> Call::plan_for(const PlanInput& in, int row) {
  const auto& strategy = file_.strategies().rows()[static_cast<std::size_t>(row)];
  const auto shift = shift_;
  if (!keeps_alignment(shift, in.parameters))
    return std::make_shared<const Plan>(strategy.plan(in));
  auto suffix = file_.plan_suffix();
  auto kept = pattern_->kept(strategy.name, suffix);
  if (kept && kept->turn >= 0 && kept->turn != in.parameters.turn) {
    suffix += "/turn " + std::to_string(in.parameters.turn);
    kept = pattern_->kept(strategy.name, suffix);
  }
  if (!kept) {
    auto in_place = strategy.plan(in);
    in_place.shift(-shift);
    kept = std::make_shared<const Plan>(std::move(in_place));
    pattern_->keep(strategy.name, suffix, kept);
  }
  if (shift == 0 || kept->aggregators.empty()) return kept;
  auto moved = *kept;
  moved.shift(shift);
  return std::make_shared<const Plan>(std::move(moved));
}

/// Everyone ran ahead: what is left is to take note.
void Call::finish_ahead() {
  pattern_ = guess_;
  plan_was_known_ = true;
  ++file_.hood().plans().hits;
  look_at_ground(*pattern_, opening_->shift());
  signature_ = signature_of(*pattern_);
  reason_ = "set";
  if (!file_.fixed_row(request_.operation)) {
    file_.note_signature(signature_);
    auto& selector = file_.selector();
    take_choice(offered_.empty() ? selector.serve(signature_)
                                 : selector.next(signature_, offered_));
  }
  planned_ns_ = opened_ns_;
  leave_track();
  take_verdict(opening_->early_verdict());
}

/// The next call of this kind may take the short way.
void Call::leave_track() {
  file_.set_track(request_.operation, {pattern_, plan_, request_.access.file.tile, row_, candidate_,
                                       signature_, ground_.is_new});
}

bool Call::finish_opening() {
  opened_ns_ = now_ns();
  if (opening_->all_ran_ahead()) {
    finish_ahead();
    return true;
  }
  if (ran_ahead_) {  // in vain
    ran_ahead_ = false;
    ++guess_->vain_runs_ahead;
    tasks_.clear();
    context_.reset();
    row_ = -1;
  }
  if (opening_->error() != 0) {  // every rank knows it already: nothing to close
    finish(opening_->error());
    return true;
  }
  learn_pattern({opening_->known(), opening_->shift(), opening_->ballots()});
  const auto in = plan_input();
  look_at_ground(*pattern_, shift_);
  signature_ = signature_of(*pattern_);
  row_ = choose(in, situation_of(*pattern_));
  plan_ = plan_for(in, row_);
  planned_ns_ = now_ns();
  start_tasks();
  return true;
}

PlanInput Call::plan_input() const {
  return {file_.hood().topology(), ranks(), file_.parameters(), file_.seats() - 1};
}

void Call::start_tasks() {
  if (plan_->exchange == Exchange::host) {
    state_ = State::host;
    return;
  }
  make_context(file_.hood(), file_.room(), 0, ranks(), grain());
  add_tasks();
  state_ = State::executing;
  execute();
}

void Call::make_context(Neighbourhood& hood, Room& room, std::size_t first_aggregator,
                        std::span<const RankSummary> ranks, std::int64_t grain) {
  const auto& pattern = pattern_ ? *pattern_ : *guess_;
  const auto& settings = file_.settings();
  const bool sieves =
      request_.operation == Operation::read ? settings.sieve_reads : settings.sieve_writes;
  const auto threshold =
      sieves ? settings.sieve_threshold : std::numeric_limits<double>::infinity();
  const bool sparse = static_cast<double>(pattern.total_bytes) <
                      threshold * static_cast<double>(pattern.span.size());
  const bool marks =
      request_.operation == Operation::read && (plan_->requests != Requests::sieve || sparse);
  context_.emplace(Context{hood,
                           room,
                           file_,
                           *plan_,
                           ranks,
                           request_.operation,
                           request_.access,
                           request_.memory,
                           common_grain(grain, *plan_),
                           marks,
                           threshold,
                           number_,
                           0,
                           no_end_of_file,
                           {},
                           true,
                           first_aggregator});
}

void Call::add_tasks() {
  switch (plan_->exchange) {
    case Exchange::none:
      add_direct(*context_, tasks_);
      break;
    case Exchange::mapped:
      add_mapped(*context_, tasks_);
      break;
    case Exchange::slots:
      add_slots(*context_, tasks_);
      break;
    default:
      add_seats(*context_, tasks_);
      add_lanes(*context_, tasks_);
      break;
  }
}

bool Call::execute() {
  bool advanced = false, all_done = true;
  for (auto& task : tasks_) {
    if (task->done()) continue;
    if (task->poll()) advanced = true;
    if (!task->done()) all_done = false;
  }
  if (!all_done) return advanced;
  return start_closing();
}

Outcome Call::outcome(std::int64_t since_ns) const {
  Outcome mine;
  mine.error = context_ ? error_class_of(context_->error) : error_;
  mine.end_of_file = context_ ? context_->end_of_file : no_end_of_file;
  mine.elapsed_ns = executed_ns_ - since_ns;
  if (request_.may_use_host) {  // nonblocking calls wait for the program's attention in between
    mine.began_ns = started_ns_;
    mine.ended_ns = executed_ns_;
  }
  return mine;
}

bool Call::start_closing() {
  executed_ns_ = now_ns();
  closing_.emplace(file_.hood(), file_.room(), outcome(opened_ns_));
  state_ = State::closing;
  if (closing_->poll()) finish_closing();
  return true;
}

void Call::host_finished(int error_class, std::int64_t bytes) {
  error_ = error_class;
  bytes_ = bytes;
  start_closing();
}

bool Call::finish_closing() { return take_verdict(closing_->verdict()); }

bool Call::take_verdict(const Outcome& verdict) {
  if (plan_->exchange != Exchange::host) bytes_ = bytes_moved(request_, verdict);
  const auto bytes = pattern_->total_bytes;
  if (candidate_ >= 0) {
    if (verdict.error != 0 || bytes == 0)
      file_.selector().abandon(signature_, candidate_);
    else
      file_.selector().record(signature_, candidate_,
                              static_cast<double>(verdict.elapsed_ns) * 1e-9, bytes, cold_);
  }
  finish(verdict.error);
  return true;
}

void Call::finish(int error_class) {
  error_ = error_class;
  if (error_ != 0) bytes_ = 0;
  if (!joint_strategy_.empty())
    file_.note_choice(joint_strategy_, reason_);
  else if (row_ >= 0)
    file_.note_choice(file_.strategies().rows()[static_cast<std::size_t>(row_)].name, reason_);
  if (file_.witness().wanted()) witness();
  tasks_.clear();
  if (joint_) file_.set_leader(nullptr);
  state_ = State::done;
}

std::string_view Call::strategy() const {
  if (!joint_strategy_.empty()) return joint_strategy_;
  if (row_ < 0) return "";
  return file_.strategies().rows()[static_cast<std::size_t>(row_)].name;
}

void Call::witness() {
  const auto now = now_ns();
  const Traffic none;
  const auto& traffic = context_ ? context_->traffic : none;
  trace::CallRecord record;
  record.file = file_.facts().path;
  record.call = static_cast<std::int64_t>(number_);
  record.operation = request_.name;
  record.strategy = strategy();
  record.phase = candidate_ >= 0 ? select::phase_name(phase_) : "fixed";
  record.reason = reason_;
  record.signature = signature_;
  record.bytes = request_.access.bytes();
  record.pieces = request_.error == 0 ? request_.access.pieces() : 0;
  record.ranks = file_.hood().topology().ranks();
  record.rank = file_.hood().rank();
  record.aggregator = traffic.requests > 0;
  record.seconds.total = seconds(started_ns_, now);
  if (opened_ns_ > 0)
    record.seconds.agree = seconds(ran_ahead_ ? executed_ns_ : started_ns_, opened_ns_);
  if (planned_ns_ > 0) record.seconds.plan = seconds(opened_ns_, planned_ns_);
  record.seconds.exchange = static_cast<double>(traffic.exchange_ns) * 1e-9;
  record.seconds.storage = static_cast<double>(traffic.storage_ns) * 1e-9;
  if (executed_ns_ > 0)
    record.seconds.wait = std::max(
        0.0, seconds(ran_ahead_ ? started_ns_ : planned_ns_, ran_ahead_ ? executed_ns_ : now) -
                 record.seconds.exchange - record.seconds.storage);
  record.bytes_inside = traffic.bytes_in_node;
  record.bytes_between = traffic.bytes_between_nodes;
  record.messages_between = traffic.messages_between_nodes;
  record.metadata_between = traffic.metadata_bytes;
  record.agreement_bytes = (opening_ ? opening_->bytes_between_nodes() : 0) +
                           (closing_ ? closing_->bytes_between_nodes() : 0);
  record.cycles = traffic.cycles;
  record.bytes_sieved = traffic.sieved_bytes;
  record.storage_requests = traffic.requests;
  if (request_.error == 0 && request_.access.bytes() > 0) {
    const auto span = request_.access.span();
    record.offset_low = span.begin;
    record.offset_high = span.end;
  }
  record.plan_cached = plan_was_known_;
  record.error_class = error_;
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  record.start_s = static_cast<double>(wall.tv_sec) + static_cast<double>(wall.tv_nsec) * 1e-9 -
                   record.seconds.total;
  file_.witness().add(record);
}

}  // namespace choir
