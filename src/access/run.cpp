#include "access/run.hpp"

namespace choir {
namespace {

Run normal(Run run) {
  if (run.count == 1) {
    run.stride = 0;
  } else if (run.stride == run.length) {
    run = {run.offset, run.length * run.count, 0, 1};
  }
  return run;
}

/// Joins `next` into `last` if one run can say both.
bool join(Run& last, const Run& next) {
  if (last.count == 1 && next.count == 1) {
    if (last.end() == next.offset) {
      last.length += next.length;
      return true;
    }
    if (last.length != next.length) return false;
    last.stride = next.offset - last.offset;
    last.count = 2;
    return true;
  }
  if (last.length != next.length) return false;
  const std::int64_t stride = last.count > 1 ? last.stride : next.stride;
  if (next.count > 1 && next.stride != stride) return false;
  if (next.offset != last.offset + stride * last.count) return false;
  last.stride = stride;
  last.count += next.count;
  return true;
}

}  // namespace

void append(Runs& runs, Run next) {
  if (next.length <= 0 || next.count <= 0) return;
  next = normal(next);
  if (runs.empty() || !join(runs.back(), next)) runs.push_back(next);
}

void append_repeated(Runs& runs, const Runs& pattern, std::int64_t at, std::int64_t times,
                     std::int64_t stride) {
  if (times <= 0 || pattern.empty()) return;
  if (pattern.size() == 1 && pattern[0].count == 1) {
    append(runs, {pattern[0].offset + at, pattern[0].length, stride, times});
    return;
  }
  if (pattern.size() == 1 && stride == pattern[0].stride * pattern[0].count) {
    auto run = pattern[0];
    run.offset += at;
    run.count *= times;
    append(runs, run);
    return;
  }
  for (std::int64_t i = 0; i < times; ++i)
    for (auto run : pattern) {
      run.offset += at + i * stride;
      append(runs, run);
    }
}

}  // namespace choir
