// explain.hpp: what is known of a class, in plain words.
#pragma once

#include <string>
#include <vector>

#include "select/evidence.hpp"

namespace choir::select {

/// Lines such as
///   two_phase serves, at 3.5 GiB/s; measured over 40 calls
///   native takes 2.9 times as long (3 comparisons, which is enough)
///   mapped takes 1.1 times as long (1 comparison, not sure yet: 2 more wanted)
///   looks at others have cost 4.1 % of the time
std::vector<std::string> explain(const Evidence& evidence);

/// Without the last line.
std::vector<std::string> explain_comparisons(const Evidence& evidence);

}  // namespace choir::select
