#include "engine/window.hpp"

#include <time.h>

namespace choir {

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

Runs runs_in_window(const Access& access, const Run& window) {
  Runs runs;
  visit_blocks(access, window, nullptr, [&](Extent part, char*, std::int64_t shift) {
    visit_runs(access.file, part.begin, part.end, [&](Run run) {
      run.offset += shift;
      append(runs, run);
    });
  });
  return runs;
}

void mark_window(Coverage& coverage, const Access& access, const Run& window) {
  visit_blocks(access, window, nullptr, [&](Extent part, char*, std::int64_t shift) {
    visit_runs(access.file, part.begin, part.end, [&](Run run) {
      run.offset += shift;
      coverage.mark(run);
    });
  });
}

}  // namespace choir
