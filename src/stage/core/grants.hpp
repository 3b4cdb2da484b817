// grants.hpp: how much of the hold each rank may use.
//
// Every part keeps a reserve, so that each rank can always give away something and no rank waits
// for another's memory. Beyond it memory is granted to who asked first, while there is some, and
// comes back when nothing is held in it. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "stage/core/part.hpp"

namespace choir::stage {

struct GrantPolicy {
  std::uint64_t reserve = 1 << 20;     ///< bytes each part has at least
  std::uint64_t limit = 256ULL << 20;  ///< bytes of all parts together: setting stage_memory
};

class Grants {
 public:
  /// `may_take(bytes)`: whether the node can spare so many bytes more than now.
  Grants(GrantPolicy policy, std::function<bool(std::uint64_t)> may_take)
      : policy_(policy), may_take_(std::move(may_take)) {}

  /// Gives each part its reserve, whatever an earlier keeper granted beyond it.
  void begin(std::vector<Part>& parts);
  /// Answers wishes, the oldest first. `held(i)`: whether entries of part i are held.
  /// Those that were answered.
  std::vector<std::size_t> answer(std::vector<Part>& parts,
                                  const std::function<bool(std::size_t)>& held);

 private:
  void notice_wishes(const std::vector<Part>& parts);
  void take_back(std::vector<Part>& parts, const std::function<bool(std::size_t)>& held);
  std::uint64_t total(const std::vector<Part>& parts) const;
  std::uint64_t grant_for(const std::vector<Part>& parts, const Part& part) const;

  GrantPolicy policy_;
  std::function<bool(std::uint64_t)> may_take_;
  std::vector<std::size_t> asking_;  // parts, in the order in which they asked
};

}  // namespace choir::stage
