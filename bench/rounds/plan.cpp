#include "plan.hpp"

#include <fmt/format.h>

namespace choir::rounds {

const std::vector<Pattern>& patterns() {
  constexpr std::int64_t kStep = 2 << 20;  // 20 steps of 2 ranks: 80 MiB, well within memory
  static const std::vector<Pattern> table{
      {"vector-512", "vector", {"--piece", "512"}, kStep},
      {"vector-4k", "vector", {"--piece", "4K"}, kStep},
      {"vector-64k", "vector", {"--piece", "64K"}, kStep},
      {"tiles-1k", "rows", {"--piece", "1K"}, kStep},
      {"subarray4d", "subarray4d", {"--piece", "304"}, kStep},
      {"irregular-512", "irregular", {"--piece", "512"}, kStep},
      {"flash", "flash", {"-p", "variables=4"}, kStep},
      {"segments-64k", "segments", {"--piece", "64K"}, 64 << 10},
      {"segments-1m", "segments", {"--piece", "1M"}, 1 << 20},
      {"interleaved-64k", "interleaved", {"--piece", "64K"}, 64 << 10},
      {"large", "segments", {"--piece", "32M", "-p", "blocks=1"}, 32 << 20, true},
  };
  return table;
}

const Pattern* find_pattern(const std::string& name) {
  for (const auto& pattern : patterns())
    if (pattern.name == name) return &pattern;
  return nullptr;
}

const std::vector<std::string>& modes() {
  static const std::vector<std::string> names{"files", "calls", "rewritten", "read", "joint"};
  return names;
}

std::string Launch::key() const {
  return fmt::format("{} {} {} {} {} {}", mpi, ranks, pattern, round, mode, run);
}

std::vector<Launch> launches_of(const Scope& scope, int round) {
  std::vector<Launch> launches;
  for (const int ranks : scope.ranks)
    for (const auto& pattern : scope.patterns)
      for (const auto& mpi : scope.mpis) {
        const Launch fixed{mpi, ranks, pattern, round, "fixed", 0};
        // Even rounds in turn begin and end with those that choose nothing.
        const bool first = round % 4 != 0;
        if (first) launches.push_back(fixed);
        const auto* known = find_pattern(pattern);
        const bool large = known != nullptr && known->large;
        for (const auto& mode : scope.modes)
          for (int run = 1; run <= kRuns && round % 2 == 0 && (!large || mode == "files"); ++run)
            launches.push_back({mpi, ranks, pattern, round, mode, run});
        if (!first) launches.push_back(fixed);
      }
  return launches;
}

}  // namespace choir::rounds
