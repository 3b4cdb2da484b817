// rule.hpp: who serves the next call, and what a call that has ended tells.
//
// Pure: no MPI, no clock, no mathematical library. Ranks that start from the same evidence and feed
// the same times decide the same, so decisions are never sent.
#pragma once

#include <optional>
#include <span>

#include "select/evidence.hpp"

namespace choir::select {

/// Strategies of one kind have much in common: one of each is looked at first.
enum class Kind { host, exchange, own, mapping };

/// One strategy as the planner sees it for this call.
struct Contender {
  std::string_view name;
  Kind kind = Kind::exchange;
  double estimate_s = 0;  ///< infinity: not applicable
  /// Where a call of it has been before; the same as `estimate_s` unless it prepares something.
  double later_s = 0;
};

enum class Role {
  serving,    ///< by what was measured, or by the estimate while nothing was
  looking,    ///< to be compared with who serves
  preparing,  ///< for later calls on the same bytes
};

std::string_view role_name(Role role);

struct Decision {
  int contender = -1;  ///< -1: none applies
  Role role = Role::serving;
  std::string_view reason = "";  ///< a literal
  bool nobody_better = false;    ///< of those that were not compared often enough
};

/// What the rule has to know of a call besides its class.
struct Occasion {
  double bytes = 1;
  bool may_look = true;   ///< nonblocking and joined calls use what is known and add nothing
  bool measured = false;  ///< the machine's own figures are behind the estimates
  int open_files = 1;     ///< they share what looks may cost
  /// Who serves where a mapping is prepared; null: not asked, since this call is no preparation.
  const Evidence* after_preparing = nullptr;
};

/// What choose() says whatever the estimates are, as long as who serves applies; nothing: they have
/// to be made.
std::optional<Decision> choose_unestimated(const Evidence& evidence, const Occasion& occasion);

Decision choose(const Evidence& evidence, std::span<const Contender> contenders,
                const Occasion& occasion);

/// A call by `name` has ended. The comparison it completes, if any; it is in the evidence already.
std::optional<Comparison> record(Evidence& evidence, std::string_view name,
                                 const Decision& decision, double seconds, double bytes);

/// A call has failed. A look counts as one comparison that was lost, so that it is not repeated
/// for ever.
std::optional<Comparison> record_failure(Evidence& evidence, std::string_view name, Role role);

}  // namespace choir::select
