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

/// The kernel may put two ranks on one core, and they then stay there for hundreds of calls. Only
/// then others are let run in between: on a busy machine that costs a time slice.
bool met(Opening& opening, bool crowded) {
  bool in_the_way = false;
  for (int looks = 0; looks < (crowded ? 1 : looks_for_others); ++looks) {
    if (opening.poll()) return true;
    if (looks < looks_in_haste) continue;
    if (looks % looks_between_doubts == 0) in_the_way = opening.waits_for_own_core();
    if (in_the_way)
      sched_yield();
    else
      __builtin_ia32_pause();
  }
  return false;
}

}  // namespace

Ballot ballot_of(const Access& access, const Shape& shape) {
  Ballot mine;
  const auto span = access.span();
  mine.low = span.begin;
  mine.high = span.end;
  mine.bytes = access.bytes();
  mine.pieces = static_cast<std::uint64_t>(access.pieces()) & 0xffff'ffff'ffff;
  mine.grain_exponent =
      static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(access.grain())));
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
bool File::may_repeat(const CallRequest& request, const Track& track) const {
  if (request.error != 0 || witness_->wanted() || !track.fits(request.access) ||
      request.access.bytes() > most_bytes_ahead)
    return false;
  if (track.candidate < 0) return true;
  // A rank that asks for nothing does not know where the others go; it does as they did.
  if (request.access.bytes() == 0) return selector_.settled(track.signature) == track.candidate;
  const auto here = ground(request.operation,
                           track.entry->span_at(request.access.span().begin - track.entry->low));
  return here.is_new == track.new_ground &&
         selector_.settled(track.signature, here.warm()) == track.candidate;
}

/// Moves this rank's bytes; what it then has to say to the others.
Vote File::run_ahead(const CallRequest& request, const Track& track) {
  const bool timed = track.candidate >= 0 && selector_.wants_time(track.signature);
  const auto started = timed ? now_ns() : 0;
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
  if (track.plan->exchange == Exchange::mapped)
    run_mapped(context);
  else
    run_direct(context);
  Vote vote;
  vote.plan_key = track.entry->key;
  vote.asks = request.access.bytes() > 0;
  vote.ran_ahead = static_cast<std::uint16_t>(track.row + 1);
  vote.early_error = error_class_of(context.error);
  vote.early_end_of_file = context.end_of_file;
  vote.early_elapsed_ns = timed ? now_ns() - started : 0;
  return vote;
}

/// Every rank has done the same: only the books are left.
Finished File::finish_repeated(const CallRequest& request, const Track& track,
                               const Opening& opening) {
  const auto& verdict = opening.early_verdict();
  ++hood_->plans().hits;
  const auto& strategy = table_.rows()[static_cast<std::size_t>(track.row)].name;
  if (track.candidate >= 0) {
    const auto span = track.entry->span_at(opening.shift());
    const bool cold = table_.rows()[static_cast<std::size_t>(track.row)].warms_up &&
                      !ground(request.operation, span).warm();
    note_ground(request.operation, span, track.row);
    const bool timed = selector_.wants_time(track.signature);
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
    if (!may_repeat(request, track)) return std::nullopt;
    auto vote = run_ahead(request, track);
    const auto rank = static_cast<std::size_t>(hood_->rank());
    const auto mine = ballot_of(request.access, track.entry->ranks[rank].shape);
    vote.shift = mine.low - track.entry->low;
    const auto number = room_->calls;
    Opening opening(*hood_, *room_, mine, vote);
    if (met(opening, hood_->crowded()) && opening.all_ran_ahead())
      return finish_repeated(request, track, opening);
    begun =
        std::make_shared<Call>(*this, std::move(request), Ahead{track, std::move(opening), number});
  }
  enter(begun);
  return std::nullopt;
}

}  // namespace choir
