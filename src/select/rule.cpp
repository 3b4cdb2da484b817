#include "select/rule.hpp"

#include <algorithm>
#include <cmath>

#include "select/arithmetic.hpp"
#include "select/numbers.hpp"

namespace choir::select {
namespace {

constexpr int nobody = -1;

bool applies(const Contender& c) { return std::isfinite(c.estimate_s); }

/// The first in the table's order, where estimates are equal.
int least_estimate(std::span<const Contender> contenders) {
  int best = nobody;
  for (int i = 0; i < static_cast<int>(contenders.size()); ++i)
    if (applies(contenders[i]) &&
        (best == nobody || contenders[i].estimate_s < contenders[best].estimate_s))
      best = i;
  return best;
}

int applicable_named(std::span<const Contender> contenders, std::string_view name) {
  for (int i = 0; i < static_cast<int>(contenders.size()); ++i)
    if (contenders[i].name == name) return applies(contenders[i]) ? i : nobody;
  return nobody;
}

/// Who serves cannot serve this call: the best of those compared with it, or the best estimate.
int stand_in(const Evidence& evidence, std::span<const Contender> contenders) {
  int best = nobody;
  double least = 0;
  for (const auto& rival : evidence.rivals) {
    const int i = applicable_named(contenders, rival.name);
    if (i == nobody || !rival.known()) continue;
    if (best == nobody || rival.middle() < least) best = i, least = rival.middle();
  }
  return best != nobody ? best : least_estimate(contenders);
}

/// A contender as the rule sees it: the logarithm of its time over that of who serves.
struct Prospect {
  double count = 0;  ///< comparisons
  double middle = 0;
  double doubt = 0;  ///< it may be wrong by this much
  bool wanted() const { return count < numbers::enough && middle - doubt < -numbers::margin; }
};

/// Who should be looked at.
class Looks {
 public:
  Looks(const Evidence& evidence, std::span<const Contender> contenders, const Occasion& occasion,
        int serving)
      : evidence_(evidence),
        contenders_(contenders),
        occasion_(occasion),
        serving_(serving),
        call_s_(evidence.cost() * occasion.bytes),
        doubt_(ln(occasion.measured ? numbers::measured_doubt : numbers::doubt)) {
    for (const auto& c : contenders) note_miss(c);
  }

  /// One of each kind first, then relatives of the fast; the most promising first. `nobody`: none
  /// can be better.
  int wanted() const {
    int first = nobody, further = nobody;
    double first_middle = 0, further_middle = 0;
    for (int i = 0; i < static_cast<int>(contenders_.size()); ++i) {
      if (i == serving_ || !applies(contenders_[i])) continue;
      const auto one = prospect(i);
      if (!one.wanted()) continue;
      const auto kind = contenders_[i].kind;
      if (!knows_one(kind)) {
        if (first == nobody || one.middle < first_middle) first = i, first_middle = one.middle;
      } else if (one.count > 0 || knows_fast_one(kind)) {
        if (further == nobody || one.middle < further_middle)
          further = i, further_middle = one.middle;
      }
    }
    return first != nobody ? first : further;
  }

  /// What a look is expected to cost beyond who serves.
  double price_s(int i) const {
    const auto* const rival = known(contenders_[i]);
    const double call_s = rival ? exp(rival->middle()) * call_s_ : contenders_[i].estimate_s;
    return std::max(0.0, call_s - call_s_);
  }

 private:
  const Rival* known(const Contender& c) const {
    const auto* const rival = evidence_.rival(c.name);
    return rival != nullptr && rival->known() ? rival : nullptr;
  }

  Prospect prospect(int i) const {
    const auto& c = contenders_[i];
    const auto* const rival = known(c);
    const double count = rival ? rival->count() : 0;
    Prospect one{count, ln(c.estimate_s / call_s_), doubt_};
    if (rival)
      one = {count, rival->middle(),
             ln(count < 1.5 ? numbers::single_doubt : numbers::double_doubt)};
    if (const auto later = later_prospect(c, count); later && later->middle < one.middle)
      return *later;
    return one;
  }

  /// The same for later calls on the same bytes, if those are faster than the first.
  std::optional<Prospect> later_prospect(const Contender& c, double count) const {
    if (occasion_.after_preparing == nullptr || !(c.later_s < c.estimate_s)) return std::nullopt;
    const auto& later = *occasion_.after_preparing;
    if (later.serves.empty()) return Prospect{count, ln(c.later_s / call_s_), doubt_};
    return std::nullopt;  // what is known there decides, see pays_to_prepare()
  }

  /// An estimate that was off by more than the usual doubt makes all of them doubtful.
  void note_miss(const Contender& c) {
    if (!applies(c)) return;
    const auto* const rival = known(c);
    if (rival == nullptr && c.name != evidence_.serves) return;
    const double took_s = call_s_ * (rival ? exp(rival->middle()) : 1);
    const double miss = ln(took_s / c.estimate_s);
    doubt_ = std::max({doubt_, miss, -miss});
  }

  bool knows_one(Kind kind) const {
    return contenders_[serving_].kind == kind ||
           std::any_of(contenders_.begin(), contenders_.end(),
                       [&](const Contender& c) { return c.kind == kind && known(c) != nullptr; });
  }

  bool knows_fast_one(Kind kind) const {
    return contenders_[serving_].kind == kind ||
           std::any_of(contenders_.begin(), contenders_.end(), [&](const Contender& c) {
             const auto* const rival = c.kind == kind ? known(c) : nullptr;
             return rival != nullptr && rival->middle() < ln(numbers::clear);
           });
  }

  const Evidence& evidence_;
  std::span<const Contender> contenders_;
  const Occasion& occasion_;
  int serving_;
  double call_s_;
  double doubt_;
};

/// A contender that is faster where it has been before than who serves here, by what was measured
/// there; and what preparing has cost so far is covered by what was gained there.
int pays_to_prepare(const Evidence& evidence, std::span<const Contender> contenders,
                    const Occasion& occasion) {
  if (occasion.after_preparing == nullptr) return nobody;
  const auto& later = *occasion.after_preparing;
  const int one = applicable_named(contenders, later.serves);
  if (one == nobody || !(contenders[one].later_s < contenders[one].estimate_s)) return nobody;
  const auto* const here = later.rival(evidence.serves);
  if (here == nullptr || !here->known() || here->middle() <= numbers::margin) return nobody;
  const double gained_s = later.time_s * (exp(here->middle()) - 1);
  return evidence.prepared_s <= gained_s ? one : nobody;
}

/// Not yet: a look stands between two calls of who serves, and those have to agree. The first call
/// of a program pays for buffers and pages; next to it everybody would look cheap, and be
/// misjudged.
bool is_no_time_to_look(const Evidence& evidence) {
  const auto calls = evidence.costs.size();
  if (!evidence.pending.name.empty() || evidence.last <= 0 || calls < 2) return true;
  const double one = evidence.costs[calls - 2], other = evidence.costs[calls - 1];
  return one > numbers::neighbours * other || other > numbers::neighbours * one;
}

constexpr std::string_view fastest = "the fastest as far as measured";

/// What looks may cost in all.
double budget_s(const Evidence& evidence, const Occasion& occasion) {
  const double share = evidence.compared ? numbers::late_share : numbers::share;
  return share * evidence.time_s / std::max(1, occasion.open_files);
}

}  // namespace

std::string_view role_name(Role role) {
  return role == Role::serving ? "serving" : role == Role::looking ? "looking" : "preparing";
}

std::optional<Decision> choose_unestimated(const Evidence& evidence, const Occasion& occasion) {
  if (evidence.serves.empty()) return std::nullopt;
  if (!occasion.may_look || evidence.cost() <= 0) return Decision{-1, Role::serving, fastest};
  if (evidence.cost() * occasion.bytes < numbers::short_call_s)
    return Decision{-1, Role::serving, "calls this short are not compared"};
  if (occasion.after_preparing != nullptr) return std::nullopt;
  if (is_no_time_to_look(evidence) || evidence.lost_s > budget_s(evidence, occasion))
    return Decision{-1, Role::serving, fastest};
  return std::nullopt;
}

Decision choose(const Evidence& evidence, std::span<const Contender> contenders,
                const Occasion& occasion) {
  const int best = least_estimate(contenders);
  if (best == nobody) return {};
  if (evidence.serves.empty())
    return {best, Role::serving, "the best estimate; nothing was measured yet"};
  const int serving = applicable_named(contenders, evidence.serves);
  if (serving == nobody)
    return {stand_in(evidence, contenders), Role::serving, "the fastest does not apply here"};
  if (auto known = choose_unestimated(evidence, occasion)) {
    known->contender = serving;
    return *known;
  }
  const int investment = pays_to_prepare(evidence, contenders, occasion);
  if (investment != nobody && investment != serving)
    return {investment, Role::preparing, "prepares the file for later calls, faster by it"};
  const Decision stay{serving, Role::serving, fastest};
  if (is_no_time_to_look(evidence)) return stay;
  const Looks looks(evidence, contenders, occasion, serving);
  const int other = looks.wanted();
  if (other == nobody) return {serving, Role::serving, fastest, true};
  if (evidence.lost_s + looks.price_s(other) > budget_s(evidence, occasion)) return stay;
  return {other, Role::looking, "compared with the one that serves"};
}

std::optional<Comparison> record(Evidence& evidence, std::string_view name,
                                 const Decision& decision, double seconds, double bytes) {
  const double cost = seconds / bytes;
  evidence.time_s += seconds;
  evidence.calls += 1;
  evidence.since_ageing += 1;
  if (evidence.since_ageing >= numbers::ageing_calls) {
    evidence.since_ageing = 0;
    evidence.age(0.5);
  }
  if (evidence.serves.empty()) evidence.serves = name;
  if (decision.nobody_better) evidence.compared = true;
  if (decision.role == Role::preparing) {
    evidence.prepared_s += std::max(0.0, seconds - evidence.cost() * bytes);
    return std::nullopt;
  }
  if (name != evidence.serves) {
    if (decision.role == Role::looking)
      evidence.lost_s += std::max(0.0, seconds - evidence.cost() * bytes);
    evidence.pending = {std::string(name), cost, evidence.last};
    return std::nullopt;
  }
  const auto look = std::move(evidence.pending);
  evidence.pending = {};
  evidence.last = cost;
  evidence.costs.push_back(cost);
  if (evidence.costs.size() > most_costs) evidence.costs.erase(evidence.costs.begin());
  if (look.name.empty() || look.before <= 0) return std::nullopt;
  if (cost > numbers::neighbours * look.before || look.before > numbers::neighbours * cost)
    return std::nullopt;
  const Comparison made{look.name, std::string(name),
                        ln(look.cost) - (ln(cost) + ln(look.before)) / 2};
  evidence.compare(made);
  return made;
}

std::optional<Comparison> record_failure(Evidence& evidence, std::string_view name, Role role) {
  if (role != Role::looking || name == evidence.serves) return std::nullopt;
  const Comparison lost{std::string(name), evidence.serves, ln(numbers::doubt)};
  evidence.compare(lost);
  return lost;
}

}  // namespace choir::select
