#include "engine/repeat.hpp"

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

/// Looks until `found`, but not for long. Only if the one waited for is on this core, as
/// `on_own_core` tells, this rank gives way in between: on a busy machine that costs a time slice.
template <class Found, class OnOwnCore, class GiveWay>
bool look_for(Found&& found, OnOwnCore&& on_own_core, GiveWay&& give_way, bool crowded) {
  bool in_the_way = false;
  for (int looks = 0; looks < (crowded ? 1 : looks_for_others); ++looks) {
    if (found()) return true;
    if (looks < looks_in_haste) continue;
    if (looks % looks_between_doubts == 0) in_the_way = on_own_core();
    if (in_the_way)
      give_way();
    else
      __builtin_ia32_pause();
  }
  return false;
}

/// What of a ballot depends on the place.
void place(Ballot& ballot, Extent span, std::int64_t grain) {
  ballot.low = span.begin;
  ballot.high = span.end;
  ballot.grain_exponent =
      static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(grain)));
}

/// Bytes of a read of `wanted` bytes that end before the file does, `until_end` bytes further on.
std::int64_t bytes_before_end(std::int64_t until_end, std::int64_t wanted) {
  return std::clamp<std::int64_t>(until_end, 0, wanted);
}

}  // namespace

Ballot ballot_of(const Access& access, const Shape& shape) {
  Ballot mine;
  place(mine, access.span(), access.grain());
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
  return bytes_before_end(access.file.position_of(verdict.end_of_file) - access.begin,
                          access.bytes());
}

select::Selector& File::selector() {
  for (auto& track : tracks_) {
    if (track.lease.unbooked > 0) {
      hood_->plans().hits += track.lease.unbooked;
      if (&track == &track_of(Operation::read))
        note_read(track.lease.unbooked * track.entry->total_bytes);
      if (track.candidate >= 0) selector_.serve_unattended(track.signature, track.lease.unbooked);
    }
    track.lease = {};
  }
  return selector_;
}

void File::set_track(Operation operation, Track track, Ground ground) {
  selector();  // what the track before has not told yet
  auto& place = track_of(operation);
  place = std::move(track);
  noted_ = &place;
  grant_lease(operation, place, ground);
}

/// Only auto asks.
Ground File::ground_of(Operation operation, const Track& track, std::int64_t shift) const {
  return track.entry && track.candidate >= 0 ? ground(operation, track.entry->span_at(shift))
                                             : Ground{};
}

/// The same answer as an ordinary call's that runs ahead, for a pattern that did before.
bool File::may_repeat(const CallRequest& request, const Track& track, Ground here) {
  if (request.error != 0 || witness_->wanted() || !track.fits(request.access) ||
      request.access.bytes() > most_bytes_ahead)
    return false;
  if (track.candidate < 0) return true;
  // A rank that asks for nothing does not know where the others go; it does as they did.
  if (request.access.bytes() == 0) return selector().settled(track.signature) == track.candidate;
  return here.apart() == track.apart &&
         selector().settled(track.signature, here.warm()) == track.candidate;
}

/// Moves one block by the track's plan. Nothing: there is more to it than that.
std::optional<Moved> File::move_block(Operation operation, const Track& track,
                                      const Transfer& one) {
  if (track.plan->exchange != Exchange::none)
    return is_plain_copy(operation, one) ? std::optional(move_mapped(*this, operation, one))
                                         : std::nullopt;
  int error = 0;
  Storage* const there = storage(error);
  return there != nullptr ? std::optional(there->move(operation, one)) : std::nullopt;
}

/// Moves this rank's bytes by the track's plan, or leaves them to its writer.
Moved File::move_ahead(const CallRequest& request, const Track& track, std::int64_t shift) {
  if (track.gathering) {
    leave_bytes(track.gathering, *room_->arena, track.entry->span.begin + shift, request.access,
                request.memory);
    return {};
  }
  if (const auto one = single_transfer(request.operation, request.access, request.memory))
    if (const auto moved = move_block(request.operation, track, *one)) return *moved;
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
  track.plan->exchange == Exchange::none ? run_direct(context) : run_mapped(context);
  return {context.error, context.end_of_file};
}

namespace {

/// What a rank that has moved its bytes says to the others.
VoteContent vote_of(const Track& track, std::int64_t shift, const Moved& moved) {
  VoteContent vote;
  vote.writer = static_cast<std::uint16_t>(track.gathering.writer + 1);
  vote.plan_name = track.entry->name;
  vote.shift = shift;
  vote.asks = track.entry->bytes > 0;
  vote.ran_ahead = static_cast<std::uint16_t>(track.row + 1);
  vote.early_error = moved.error == 0 ? 0 : error_class_of(moved.error);
  vote.early_end_of_file = moved.end_of_file;
  return vote;
}

}  // namespace

/// Moves this rank's bytes; what it then has to say to the others.
VoteContent File::run_ahead(const CallRequest& request, const Track& track, std::int64_t shift,
                            bool timed) {
  const auto started = timed ? now_ns() : 0;
  auto vote = vote_of(track, shift, move_ahead(request, track, shift));
  vote.early_elapsed_ns = timed ? now_ns() - started : 0;
  return vote;
}

/// Whether all ranks are here and have done the same as this one. If not, an ordinary call has to
/// go on from where `opening` is.
bool File::met_alike(Opening& opening) {
  return look_for([&] { return opening.poll(); }, [&] { return opening.waits_for_own_core(); },
                  [&] { give_way(*hood_, *room_->arena); }, hood_->crowded()) &&
         opening.all_ran_ahead();
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
  const auto step_aside = [&] { give_way(*hood_, *room_->arena); };
  if (look_for(hear, on_own_core, step_aside, hood_->crowded())) return *told;
  while (true) {
    Nap nap(own_bell());
    if (hear()) return *told;
    nap.sleep(longest_nap);
  }
}

/// Only the books are left.
void File::book_repeated(Operation operation, Track& track, const Outcome& verdict,
                         const Visit& visit) {
  ++hood_->plans().hits;
  if (operation == Operation::read) note_read(track.entry->total_bytes);
  const auto& strategy = table_.rows()[static_cast<std::size_t>(track.row)];
  if (track.candidate < 0) {
    if (noted_ != &track) note_choice(strategy.name, "set");
    noted_ = &track;
    return;
  }
  if (verdict.error == 0) note_filled(operation, *track.entry, visit.shift);
  const bool cold = strategy.warms_up && !visit.ground.warm();
  note_ground(operation, track.entry->span_at(visit.shift), track.row);
  auto& books = selector();
  const auto choice = books.serve(track.signature);
  if (visit.timed || noted_ != &track) note_choice(strategy.name, choice.reason);
  noted_ = &track;
  if (verdict.error != 0 || track.entry->total_bytes == 0)
    books.abandon(track.signature, track.candidate);
  else if (!visit.timed)
    books.forgo_time(track.signature, track.candidate);
  else
    books.record(track.signature, track.candidate, static_cast<double>(verdict.elapsed_ns) * 1e-9,
                 track.entry->total_bytes, cold);
}

/// For the calls after one that went well on such ground.
void File::grant_lease(Operation operation, Track& track, Ground ground) {
  constexpr std::int64_t while_it_is_fixed = std::int64_t{1} << 40;
  if (track.gathering || witness_->wanted() || !track.is_one_block() ||
      !needs_no_queue(operation, track.entry->bytes))
    return;
  track.lease.calls = track.candidate < 0 ? while_it_is_fixed
                                          : selector_.unattended(track.signature, ground.warm());
  track.lease.ground = ground;
}

std::optional<Finished> File::repeat(CallRequest& request, std::shared_ptr<Call>& begun) {
  apart_.store(true, std::memory_order_relaxed);  // also where no call enters the queue
  if (busy()) return std::nullopt;  // whoever advances those calls may have the lock for long
  {
    const std::lock_guard lock(mutex_);
    auto& track = track_of(request.operation);
    const auto span = request.access.span();
    const auto shift_here = track.entry ? span.begin - track.entry->low : 0;
    // Where a rank without bytes goes is known when it has met the others.
    const bool asks = request.access.bytes() > 0;
    const auto here = asks ? ground_of(request.operation, track, shift_here) : Ground{};
    if (!may_repeat(request, track, here)) return std::nullopt;
    const auto wants_time = [&](Ground there) {
      return track.candidate >= 0 && selector_.wants_time(track.signature, there.warm());
    };
    const auto vote = run_ahead(request, track, shift_here, !asks || wants_time(here));
    auto mine = track.ballot;
    place(mine, span, request.access.grain(span));
    const auto number = room_->calls;
    Opening opening(*hood_, *room_, mine, vote);
    if (met_alike(opening)) {
      const auto verdict = verdict_of(track, opening);
      const auto shift = opening.shift();
      const auto found = asks ? here : ground_of(request.operation, track, shift);
      book_repeated(request.operation, track, verdict, {shift, found, wants_time(found)});
      if (verdict.error != 0) return Finished{verdict.error, 0};
      grant_lease(request.operation, track, found);
      return Finished{0, bytes_moved(request, verdict)};
    }
    waiting_.emplace(Ahead{track, std::move(opening), number});
  }
  begun = resume(std::move(request));
  return std::nullopt;
}

/// On the ground the lease is for; elsewhere the selector has to be asked.
bool File::is_leased(Operation operation, const Track& track, const Transfer& one) const {
  if (track.lease.calls == 0 || one.length != track.entry->bytes || noted_ != &track ||
      track.worn_out())
    return false;
  if (track.candidate < 0) return true;
  return ground(operation, track.entry->span_at(one.offset - track.entry->low)) ==
         track.lease.ground;
}

Repeated File::repeat_block(Operation operation, const Transfer& one) {
  using enum Repeated::Way;
  if (busy()) return {};
  const std::lock_guard lock(mutex_);
  auto& track = track_of(operation);
  if (!is_leased(operation, track, one)) return {};
  const auto moved = move_block(operation, track, one);
  if (!moved) return {};
  apart_.store(true, std::memory_order_relaxed);
  const auto shift = one.offset - track.entry->low;
  const Extent span{one.offset, one.offset + one.length};
  auto mine = track.ballot;
  place(mine, span, block_grain(span));
  const auto number = room_->calls;
  Opening opening(*hood_, *room_, mine, vote_of(track, shift, *moved));
  if (!met_alike(opening)) {
    waiting_.emplace(Ahead{track, std::move(opening), number});
    return {begun};
  }
  const auto& verdict = opening.early_verdict();
  if (verdict.error != 0) {
    book_repeated(operation, track, verdict, {shift, track.lease.ground, false});
    return {finished, {verdict.error, 0}};
  }
  --track.lease.calls;
  ++track.lease.unbooked;
  if (track.lease.ground.is_new) {
    note_ground(operation, track.entry->span_at(shift), track.row);
    note_filled(operation, *track.entry, shift);
  }
  return {finished, {0, bytes_before_end(verdict.end_of_file - one.offset, one.length)}};
}

std::shared_ptr<Call> File::resume(CallRequest request) {
  auto call = std::make_shared<Call>(*this, std::move(request), std::move(*waiting_));
  waiting_.reset();
  enter(call);
  return call;
}

}  // namespace choir
