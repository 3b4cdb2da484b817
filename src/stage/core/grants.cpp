#include "stage/core/grants.hpp"

#include <algorithm>
#include <utility>

namespace choir::stage {

std::uint64_t Grants::total(const std::vector<Part>& parts) const {
  std::uint64_t sum = 0;
  for (const auto& part : parts) sum += part.granted();
  return sum;
}

void Grants::begin(std::vector<Part>& parts) {
  for (auto& part : parts)
    part.grant(std::max(part.granted(), std::min(policy_.reserve, part.arena_bytes())));
}

void Grants::notice_wishes(const std::vector<Part>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].wishes() != parts[i].answered() &&
        std::find(asking_.begin(), asking_.end(), i) == asking_.end())
      asking_.push_back(i);
}

/// Memory in which nothing is held goes back, where its rank is not about to use it.
void Grants::take_back(std::vector<Part>& parts, const std::function<bool(std::size_t)>& held) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto& part = parts[i];
    const auto before = part.granted();
    const bool asks = std::find(asking_.begin(), asking_.end(), i) != asking_.end();
    if (before <= policy_.reserve || asks || held(i)) continue;
    part.grant(policy_.reserve);
    if (part.is_busy()) part.grant(before);
  }
}

std::uint64_t Grants::grant_for(const std::vector<Part>& parts, const Part& part) const {
  const auto now = part.granted();
  const auto wished = std::min(part.wished(), part.arena_bytes());
  if (wished <= now) return now;
  const auto others = total(parts) - now;
  const auto most = policy_.limit > others ? policy_.limit - others : 0;
  const auto granted = std::max(now, std::min(wished, most));
  return may_take_(granted - now) ? granted : now;
}

std::vector<std::size_t> Grants::answer(std::vector<Part>& parts,
                                        const std::function<bool(std::size_t)>& held) {
  notice_wishes(parts);
  for (const auto i : asking_) {
    auto& part = parts[i];
    const auto number = part.wishes();
    if (grant_for(parts, part) < std::min(part.wished(), part.arena_bytes()))
      take_back(parts, held);
    part.grant(grant_for(parts, part));
    part.answer_wish(number);
  }
  return std::exchange(asking_, {});
}

}  // namespace choir::stage
