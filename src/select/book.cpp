#include "select/book.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "select/store.hpp"

namespace choir::select {

void Difference::merge_into(Evidence& evidence) const {
  if (evidence.serves.empty()) {
    evidence = after;
    return;
  }
  for (int i = 0; i < ageings; ++i) evidence.age(0.5);
  for (const auto& one : comparisons) evidence.compare(one);
  evidence.time_s += time_s;
  evidence.lost_s += lost_s;
  evidence.prepared_s += prepared_s;
  evidence.calls += calls;
  evidence.since_ageing = after.since_ageing;
  if (evidence.serves != after.serves) return;
  evidence.costs = after.costs;
  evidence.last = after.last;
  evidence.pending = after.pending;
  evidence.compared = evidence.compared || after.compared;
}

Book::Book(std::string known) : known_(std::move(known)) {
  for (std::size_t at = 0; at < known_.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t piece = 0;
    std::memcpy(&piece, known_.data() + at, std::min(sizeof piece, known_.size() - at));
    stir_fingerprint(piece);
  }
}

Book::Page& Book::page(const ClassKey& key) {
  auto [found, is_new] = pages_.try_emplace(key);
  if (is_new) found->second.evidence = find_line(known_, key);
  return found->second;
}

const Evidence* Book::after_preparing(const ClassKey& key) {
  const bool comes_again =
      key.ground == Ground::rewritten || key.ground == Ground::warm || key.ground == Ground::cold;
  if (!comes_again) return nullptr;
  auto later = key;
  later.ground = Ground::prepared;
  return &page(later).evidence;
}

Occasion Book::complete(const ClassKey& key, const Occasion& occasion) {
  auto full = occasion;
  full.after_preparing = occasion.may_look ? after_preparing(key) : nullptr;
  return full;
}

std::optional<Chooser::Known> Book::choose_unestimated(const ClassKey& key,
                                                       const Occasion& occasion) {
  const auto full = complete(key, occasion);
  const auto& known = page(key).evidence;
  if (auto decision = select::choose_unestimated(known, full))
    return Known{known.serves, *decision};
  return std::nullopt;
}

Decision Book::choose(const ClassKey& key, std::span<const Contender> contenders,
                      const Occasion& occasion) {
  const auto full = complete(key, occasion);
  return select::choose(page(key).evidence, contenders, full);
}

void Book::record(const ClassKey& key, std::string_view strategy, const Decision& decision,
                  double seconds, double bytes) {
  if (!(seconds > 0) || !std::isfinite(seconds) || !(bytes > 0)) return;
  stir_fingerprint(std::bit_cast<std::uint64_t>(seconds));
  auto& [evidence, difference] = page(key);
  const double lost_s = evidence.lost_s, prepared_s = evidence.prepared_s;
  if (auto made = select::record(evidence, strategy, decision, seconds, bytes))
    difference.comparisons.push_back(std::move(*made));
  difference.time_s += seconds;
  difference.lost_s += evidence.lost_s - lost_s;
  difference.prepared_s += evidence.prepared_s - prepared_s;
  difference.calls += 1;
  if (evidence.since_ageing == 0) ++difference.ageings;
}

void Book::record_failure(const ClassKey& key, std::string_view strategy, Role role) {
  auto& [evidence, difference] = page(key);
  if (auto made = select::record_failure(evidence, strategy, role))
    difference.comparisons.push_back(std::move(*made));
}

void Book::forget() {
  known_.clear();
  pages_.clear();
  clear_fingerprint();
}

const Evidence* Book::evidence(const ClassKey& key) {
  const auto& known = page(key).evidence;
  return known.serves.empty() ? nullptr : &known;
}

std::map<ClassKey, Difference> Book::take_differences() {
  std::map<ClassKey, Difference> all;
  for (auto& [key, page] : pages_) {
    if (page.difference.calls == 0 && page.difference.comparisons.empty()) continue;
    page.difference.after = page.evidence;
    all.emplace(key, std::move(page.difference));
    page.difference = {};
  }
  return all;
}

}  // namespace choir::select
