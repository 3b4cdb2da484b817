#include "engine/repeat.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>

#include "engine/direct.hpp"
#include "engine/file.hpp"
#include "engine/mapped.hpp"

namespace choir {
namespace {

/// Looks for the others before an ordinary call waits for them: some tens of microseconds. With
/// more ranks than cores, looking only keeps them from coming.
constexpr int looks_for_others = 2000;
/// The first without a pause, which would be a good part of the time a meeting takes.
constexpr int looks_in_haste = 200;
constexpr int looks_between_doubts = 32;
/// Nobody forgets to ring, but if somebody did it shall not be noticed.
constexpr double longest_nap = 0.01;

/// Looks until `found`, but not for long. The kernel may put two ranks on one core, and they then
/// stay there for hundreds of calls. Only if that is so, as `on_own_core` tells, others are let run
/// in between: on a busy machine that costs a time slice.
template <class Found, class OnOwnCore>
bool look_for(Found&& found, OnOwnCore&& on_own_core, bool crowded) {
  bool in_the_way = false;
  for (int looks = 0; looks < (crowded ? 1 : looks_for_others); ++looks) {
    if (found()) return true;
    if (looks < looks_in_haste) continue;
    if (looks % looks_between_doubts == 0) in_the_way = on_own_core();
    if (in_the_way)
      sched_yield();
    else
      __builtin_ia32_pause();
  }
  return false;
}

/// What of a ballot depends on the place.
void place(Ballot& ballot, const Access& access, Extent span) {
  ballot.low = span.begin;
  ballot.high = span.end;
  ballot.grain_exponent =
      static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(access.grain(span))));
}

}  // namespace

Ballot ballot_of(const Access& access, const Shape& shape) {
  Ballot mine;
  place(mine, access, access.span());
  mine.bytes = access.bytes();
  mine.pieces = static_cast<std::uint64_t>(access.pieces()) & 0xffff'ffff'ffff;
  mine.hash = mine.bytes > 0 ? access.relative_hash() : 0;
  mine.shape_kind = static_cast<std::uint8_t>(shape.kind);
  mine.shape_words = shape.words;
  return mine;
}

std::int64_t bytes_moved(const CallRequest& request, const Outcome& verdict) {
  const auto& access = request.access;
  if (verdict.end_of_file == no_end_of_file || request.operation == Operation::write)
    return access.bytes();
  return std::clamp<std::int64_t>(access.file.position_of(verdict.end_of_file) - access.begin, 0,
                                  access.bytes());
}

/// The same answer as an ordinary call's that runs ahead, for a pattern that did before.
bool File::may_repeat(const CallRequest& request, const Track& track, Extent span) const {
  if (request.error != 0 || witness_->wanted() || !track.fits(request.access) ||
      request.access.bytes() > most_bytes_ahead)
    return false;
  if (track.candidate < 0) return true;
  // A rank that asks for nothing does not know where the others go; it does as they did.
  if (request.access.bytes() == 0) return selector_.settled(track.signature) == track.candidate;
  const auto here = ground(request.operation, track.entry->span_at(span.begin - track.entry->low));
  return here.is_new == track.new_ground &&
         selector_.settled(track.signature, here.warm()) == track.candidate;
}

/// Moves this rank's bytes by the track's plan, or leaves them to its writer.
Moved File::move_ahead(const CallRequest& request, const Track& track, std::int64_t shift) {
  if (track.gathering) {
    leave_bytes(track.gathering, *room_->arena, track.entry->span.begin + shift, request.access,
                request.memory);
    return {};
  }
  const bool direct = track.plan->exchange == Exchange::none;
  if (const auto one = single_transfer(request.operation, request.access, request.memory)) {
    int error = 0;
    Storage* const there = direct ? storage(error) : nullptr;
    if (there != nullptr) return there->move(request.operation, *one);
    if (!direct && is_small_block(*one)) return move_mapped(*this, request.operation, *one);
  }
  Context context{*hood_,
                  *room_,
                  *this,
                  *track.plan,
                  {track.entry->ranks},
                  request.operation,
                  request.access,
                  request.memory,
                  track.entry->grain,
                  false,
                  0,
                  room_->calls,
                  0,
                  no_end_of_file,
                  {},
                  false,
                  0};
  direct ? run_direct(context) : run_mapped(context);
  return {context.error, context.end_of_file};
}

/// Moves this rank's bytes; what it then has to say to the others.
VoteContent File::run_ahead(const CallRequest& request, const Track& track, std::int64_t shift,
                            bool timed) {
  const auto started = timed ? now_ns() : 0;
  const auto moved = move_ahead(request, track, shift);
  VoteContent vote;
  vote.writer = static_cast<std::uint16_t>(track.gathering.writer + 1);
  vote.plan_key = track.entry->key;
  vote.shift = shift;
  vote.asks = request.access.bytes() > 0;
  vote.ran_ahead = static_cast<std::uint16_t>(track.row + 1);
  vote.early_error = moved.error == 0 ? 0 : error_class_of(moved.error);
  vote.early_end_of_file = moved.end_of_file;
  vote.early_elapsed_ns = timed ? now_ns() - started : 0;
  return vote;
}

/// How the call went, in which every rank has done the same.
Outcome File::verdict_of(const Track& track, const Opening& opening) {
  if (!track.gathering) return opening.early_verdict();
  if (hood_->local() == track.gathering.writer)
    return write_left(track.gathering, *hood_, *room_, *this, opening.number(),
                      track.entry->span_at(opening.shift()), opening.early_verdict());
  return await_writer(track.gathering.writer, opening);
}

Outcome File::await_writer(int writer, const Opening& opening) {
  std::optional<Outcome> told;
  const auto hear = [&] {
    told = told_by_writer(*room_->arena, opening.number());
    return told.has_value();
  };
  const auto on_own_core = [&] { return opening.came_on_own_core(writer); };
  if (look_for(hear, on_own_core, hood_->crowded())) return *told;
  while (true) {
    Nap nap(own_bell());
    if (hear()) return *told;
    nap.sleep(longest_nap);
  }
}

/// Only the books are left.
Finished File::finish_repeated(const CallRequest& request, const Track& track,
                               const Outcome& verdict, std::int64_t shift, bool timed) {
  ++hood_->plans().hits;
  const auto& strategy = table_.rows()[static_cast<std::size_t>(track.row)].name;
  if (track.candidate >= 0) {
    const auto span = track.entry->span_at(shift);
    const bool cold = table_.rows()[static_cast<std::size_t>(track.row)].warms_up &&
                      !ground(request.operation, span).warm();
    note_ground(request.operation, span, track.row);
    const auto choice = selector_.serve(track.signature);
    if (timed || noted_ != &track) note_choice(strategy, choice.reason);
    noted_ = &track;
    if (verdict.error != 0 || track.entry->total_bytes == 0)
      selector_.abandon(track.signature, track.candidate);
    else if (!timed)
      selector_.forgo_time(track.signature, track.candidate);
    else
      selector_.record(track.signature, track.candidate,
                       static_cast<double>(verdict.elapsed_ns) * 1e-9, track.entry->total_bytes,
                       cold);
  } else if (noted_ != &track) {
    note_choice(strategy, "set");
    noted_ = &track;
  }
  return {verdict.error, verdict.error == 0 ? bytes_moved(request, verdict) : 0};
}

std::optional<Finished> File::repeat(CallRequest& request, std::shared_ptr<Call>& begun) {
  apart_.store(true, std::memory_order_relaxed);  // also where no call enters the queue
  if (busy()) return std::nullopt;  // whoever advances those calls may have the lock for long
  {
    const std::lock_guard lock(mutex_);
    const auto& track = tracks_[request.operation == Operation::write ? 1 : 0];
    const auto span = request.access.span();
    if (!may_repeat(request, track, span)) return std::nullopt;
    const bool timed = track.candidate >= 0 && selector_.wants_time(track.signature);
    const auto vote = run_ahead(request, track, span.begin - track.entry->low, timed);
    auto mine = track.ballot;
    place(mine, request.access, span);
    const auto number = room_->calls;
    Opening opening(*hood_, *room_, mine, vote);
    const bool met = look_for([&] { return opening.poll(); },
                              [&] { return opening.waits_for_own_core(); }, hood_->crowded());
    if (met && opening.all_ran_ahead())
      return finish_repeated(request, track, verdict_of(track, opening), opening.shift(), timed);
    begun =
        std::make_shared<Call>(*this, std::move(request), Ahead{track, std::move(opening), number});
  }
  enter(begun);
  return std::nullopt;
}

}  // namespace choir
