#include "select/paper.hpp"

#include <bit>
#include <cmath>

namespace choir::select {
namespace {

constexpr int calls_each = 3;
constexpr double drift = 0.15;

}  // namespace

Decision PaperRule::choose(const ClassKey& key, std::span<const Contender> contenders,
                           const Occasion&) {
  auto& state = states_[key];
  const auto calls_of = [&](std::string_view name) {
    for (const auto& one : state.examined)
      if (one.name == name) return one.calls;
    return 0;
  };
  int next = -1, winner = -1;
  for (int i = 0; i < static_cast<int>(contenders.size()); ++i) {
    if (!std::isfinite(contenders[i].estimate_s)) continue;
    if (contenders[i].name == state.winner) winner = i;
    if (next < 0 || calls_of(contenders[i].name) < calls_of(contenders[next].name)) next = i;
  }
  if (winner >= 0) return {winner, Role::serving, "the best mean of three calls each"};
  if (next >= 0 && calls_of(contenders[next].name) < calls_each)
    return {next, Role::looking, "three calls each, in rotation"};
  const Examined* best = nullptr;
  int place = next;
  for (const auto& one : state.examined)
    for (int i = 0; i < static_cast<int>(contenders.size()); ++i)
      if (contenders[i].name == one.name && std::isfinite(contenders[i].estimate_s) &&
          (best == nullptr || one.sum * best->calls < best->sum * one.calls))
        best = &one, place = i;
  if (best == nullptr) return {next};
  state.winner = best->name;
  state.best = best->sum / best->calls;
  return {place, Role::serving, "the best mean of three calls each"};
}

void PaperRule::record(const ClassKey& key, std::string_view strategy, const Decision&,
                       double seconds, double bytes) {
  if (!(seconds > 0) || !std::isfinite(seconds) || !(bytes > 0)) return;
  stir_fingerprint(std::bit_cast<std::uint64_t>(seconds));
  auto& state = states_[key];
  const double cost = seconds / bytes;
  if (strategy == state.winner) {
    if (std::abs(cost - state.best) > drift * state.best) state = {};
    return;
  }
  for (auto& one : state.examined)
    if (one.name == strategy) {
      ++one.calls;
      one.sum += cost;
      return;
    }
  state.examined.push_back({std::string(strategy), 1, cost});
}

void PaperRule::record_failure(const ClassKey& key, std::string_view strategy, Role) {
  constexpr double slow = 1e-3;  // a millisecond per byte: never the best mean
  for (int call = 0; call < calls_each; ++call) record(key, strategy, {}, slow, 1);
}

}  // namespace choir::select
