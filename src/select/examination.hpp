// examination.hpp: which candidate needs another call and may have it, and who wins when none does.
#pragma once

#include "select/selector.hpp"

namespace choir::select {

/// What a look takes beyond its call: short calls that are settled go a shorter way, whose code is
/// at hand.
double detour(const Policy& p, const State& s);
/// Whether a look at candidate `i` keeps the run's losses, against the best known and against
/// native, inside what the policy allows.
bool affordable(const Policy& p, const State& s, int i);
/// A candidate that may still win with more calls: the more it has had, the closer it must be.
bool contends(const Policy& p, const State& s, int i, double lead, double noise);
/// The next candidate nobody has seen in this examination: the likely best, then native, then
/// the others as predicted.
int unseen(const Policy& p, const State& s);
/// The contender that needs another call, by turns, the most promising first.
int unfinished(const Policy& p, const State& s);
void drop_hopeless(const Policy& p, State& s);
/// Nothing is left to measure: the fastest serves. The incumbent stays unless beaten clearly.
int winner_by_now(const Policy& p, const State& s);
void settle(const Policy& p, State& s);
/// A late look turned out well: a new winner without a new examination.
bool overtaken(const Policy& p, const State& s);

}  // namespace choir::select
