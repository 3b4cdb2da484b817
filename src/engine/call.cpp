#include "engine/call.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "engine/direct.hpp"
#include "engine/file.hpp"
#include "engine/joint_call.hpp"
#include "engine/lane.hpp"
#include "engine/mapped.hpp"
#include "engine/seats.hpp"
#include "engine/slots.hpp"
#include "plan/partition.hpp"
#include "select/signature.hpp"

namespace choir {
namespace {

constexpr std::int64_t page = 4096;

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
  return sum;
}

/// Never 0, also without its lowest bit: votes compare the others.
std::uint64_t name_of(std::uint64_t key, Extent span) {
  return select::Signature().add(static_cast<std::int64_t>(key)).add(span.begin).value() | 2;
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

/// What a rank tells the others of its request.
Ballot ballot_of(const Access& access, const Shape& shape) {
  Ballot mine;
  const auto span = access.span();
  mine.low = span.begin;
  mine.high = span.end;
  mine.grain_exponent =
      static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(access.grain())));
  mine.bytes = access.bytes();
  mine.pieces = static_cast<std::uint64_t>(access.pieces()) & 0xffff'ffff'ffff;
  mine.hash = mine.bytes > 0 ? access.relative_hash() : 0;
  mine.shape_kind = static_cast<std::uint8_t>(shape.kind);
  mine.shape_words = shape.words;
  return mine;
}

/// Bytes this rank got or gave in a call without error.
std::int64_t bytes_moved(const CallRequest& request, const Outcome& verdict) {
  const auto& access = request.access;
  if (verdict.end_of_file == no_end_of_file || request.operation == Operation::write)
    return access.bytes();
  const auto end = access.file.position_of(verdict.end_of_file);
  return std::clamp<std::int64_t>(end - access.begin, 0, access.bytes());
}

}  // namespace

Call::Call(File& file, CallRequest request, std::shared_ptr<JointCall> joint)
    : file_(file), request_(std::move(request)), joint_(std::move(joint)), started_ns_(now_ns()) {}
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
  vote.objection = Objection{request_.error, request_.left}.number();
  if (vote.objection != 0) return {};
  const auto& access = request_.access;
  if (file_.settings().plan_cache_bytes > 0) guess_ = file_.hood().plans().find(access);
  const auto mine =
      ballot_of(access, guess_ ? guess_->ranks[static_cast<std::size_t>(file_.hood().rank())].shape
                        : access.bytes() > 0 ? shape_of(access)
                                             : Shape{});
  vote.asks = mine.bytes > 0;
  vote.fingerprint = file_.chooser().fingerprint();
  if (guess_) {
    vote.plan_name = guess_->name;
    vote.shift = mine.low - guess_->low;
  }
  return mine;
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
    shift_ = opened.shift;
    return;
  }
  ++cache.misses;
  const auto ballots = opened.ballots;
  pattern_ = std::make_shared<PlanEntry>();
  pattern_->bytes = request_.access.bytes();
  pattern_->low = ballots[static_cast<std::size_t>(file_.hood().rank())].low;
  if (pattern_->bytes > 0) {
    pattern_->tile = request_.access.file.tile;
    pattern_->begin_in_tile = request_.access.begin % pattern_->tile->bytes();
  }
  pattern_->grain = page;
  std::vector<select::Share> shares;
  for (const auto& one : ballots) {
    pattern_->ranks.push_back(one.summary());
    pattern_->pieces += static_cast<std::int64_t>(one.pieces);
    if (one.bytes > 0) pattern_->add(pattern_->ranks.back(), one.grain());
    shares.push_back({one.low, one.high, one.bytes});
  }
  pattern_->name = name_of(key_of(ballots), pattern_->span);
  pattern_->dense = fill_their_span(pattern_->ranks);
  pattern_->shape = select::shape_class(shares, pattern_->pieces);
  if (file_.settings().plan_cache_bytes > 0) cache.insert(pattern_);
}

std::shared_ptr<const Plan> Call::plan_for(int row) {
  const auto& strategy = file_.strategies().rows()[static_cast<std::size_t>(row)];
  const auto& parameters = file_.parameters();
  if (!keeps_alignment(shift_, parameters))
    return std::make_shared<const Plan>(strategy.plan(plan_input()));
  auto kept = pattern_->kept(file_.plan_key(row));
  if (!kept) {
    kept = std::make_shared<const Plan>(strategy.plan(input_for(*pattern_)));
    file_.hood().plans().keep(*pattern_, file_.plan_key(row), kept);
  }
  if (shift_ == 0 || kept->aggregators.empty()) return kept;
  auto moved = *kept;
  moved.shift(shift_);
  return std::make_shared<const Plan>(std::move(moved));
}

/// Everyone ran ahead: what is left is to take note.
void Call::finish_ahead(const Outcome& verdict) {
  learn_pattern({true, opening_->shift(), {}});
  planned_ns_ = opened_ns_;
  take_verdict(verdict);
}

bool Call::finish_opening() {
  opened_ns_ = now_ns();
  if (opening_->all_ran_ahead()) {
    finish_ahead(opening_->early_verdict());
    return true;
  }
  if (ran_ahead_) {  // in vain
    ran_ahead_ = false;
    ++guess_->vain_runs_ahead;
    tasks_.clear();
    context_.reset();
    row_ = -1;
    fixed_ = false;
  }
  const auto objection = Objection::from(opening_->objection());
  if (objection.error != 0) {  // every rank knows it already: nothing to close
    finish(objection.error);
    return true;
  }
  left_ = objection.left;
  if (left_ != trace::Left::no) {
    state_ = State::host;
    return true;
  }
  learn_pattern({opening_->known(), opening_->shift(), opening_->ballots()});
  if (!opening_->same_knowledge()) file_.forget_knowledge();
  class_ = class_of(*pattern_, shift_);
  row_ = choose();
  plan_ = plan_for(row_);
  planned_ns_ = now_ns();
  start_tasks();
  return true;
}

PlanInput Call::input_for(const PlanEntry& pattern) const {
  return {file_.hood().topology(), pattern.ranks, file_.parameters(), file_.seats() - 1};
}

PlanInput Call::plan_input() {
  auto in = input_for(*pattern_);
  if (shift_ == 0) return in;
  if (moved_.empty())
    for (int rank = 0; rank < in.topology.ranks(); ++rank) moved_.push_back(ranks()[rank]);
  in.ranks = moved_;
  return in;
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
                        const Summaries& ranks, std::int64_t grain) {
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
      add_seats(std::array{&*context_}, tasks_);
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

bool Call::finish_closing() {
  if (left_ == trace::Left::no) return take_verdict(closing_->verdict());
  finish(closing_->verdict().error);
  return true;
}

bool Call::take_verdict(const Outcome& verdict) {
  if (plan_->exchange != Exchange::host) bytes_ = bytes_moved(request_, verdict);
  note_time(verdict);
  file_.note_ground(request_.operation, pattern_->span_at(shift_), row_);
  if (verdict.error == 0) file_.note_filled(request_.operation, *pattern_, shift_);
  finish(verdict.error);
  return true;
}

void Call::finish(int error_class) {
  error_ = error_class;
  bytes_ = error_ != 0 ? 0 : bytes_ + request_.moved_by_host;
  if (!joint_strategy_.empty())
    file_.note_choice(joint_strategy_, reason_);
  else if (row_ >= 0)
    file_.note_choice(file_.strategies().rows()[static_cast<std::size_t>(row_)].name, reason_);
  if (left_ != trace::Left::no)
    file_.witness().left(request_.name, left_);
  else if (file_.witness().wanted())
    witness();
  tasks_.clear();
  if (joint_) file_.set_leader(nullptr);
  state_ = State::done;
}

std::string_view Call::strategy() const {
  if (!joint_strategy_.empty()) return joint_strategy_;
  if (row_ < 0) return "";
  return file_.strategies().rows()[static_cast<std::size_t>(row_)].name;
}

}  // namespace choir
