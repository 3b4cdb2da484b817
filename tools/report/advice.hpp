// advice.hpp: what a person should know, or do, after this run, in plain words.
#pragma once

#include <string>
#include <vector>

#include "summary.hpp"

namespace choir::report {

enum class Weight { good, hint, warning };

struct Advice {
  std::string id;  ///< stable name of the rule, for tests and scripts
  Weight weight = Weight::hint;
  std::string finding;  ///< what was seen, with its number
  std::string action;   ///< what to do; may be empty
};

/// The most important first. Never empty.
std::vector<Advice> advise(const Trace& trace, const Summary& summary);

std::string human_bytes(double bytes);
std::string human_seconds(double seconds);

}  // namespace choir::report
