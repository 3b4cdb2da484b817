// drift.hpp: the serving winner against its reference, and when everybody is examined again.
#pragma once

#include "select/selector.hpp"

namespace choir::select {

void forget_serving(State& s);
/// Everybody is measured again, by turns. The incumbent keeps its latest call only: the calls that
/// raised the alarm are no fair sample of it.
void start_examination(const Policy& p, State& s, std::string why);
void watch_drift(const Policy& p, State& s, double cost);
/// An earlier run's winner has served enough calls: it stands, or everybody is examined.
void check_memory(const Policy& p, State& s);

}  // namespace choir::select
