// warmth.hpp: candidates that prepare what later calls on the same bytes find ready: cold calls and
// warm ones.
#pragma once

#include "select/selector.hpp"

namespace choir::select {

void note_cold_ones(State& s, std::span<const Candidate> candidates);
/// Another call of it would tell nothing new: how it does where it is cold is known well enough.
bool pointless_here(const CandidateState& c);
/// A candidate known only from cold calls that may win when it is warm.
bool waits_for_warmth(const Policy& p, const State& s, int i);
/// The call goes where such a candidate has been: the chance to see what it can do.
bool warm_look(const Policy& p, const State& s);
bool serves_cold(const State& s);
/// The winner is cold here. It serves all the same if that costs little, or if the run can afford
/// to prepare more; else its stand-in does.
int serve_cold(const Policy& p, const State& s);
void note_cold(CandidateState& c, double cost);
/// A serving call of a winner that is sometimes cold, against what its stand-in would have taken.
void balance(State& s, double cost, bool cold);

}  // namespace choir::select
