#include "model/overlap.hpp"

namespace choir::model {
namespace {

using Wide = __int128;

/// The last block of a run that begins before `offset`, which lies behind the run's first byte.
std::int64_t block_before(const Run& run, std::int64_t offset) {
  if (run.count == 1) return 0;
  return std::min((offset - 1 - run.offset) / run.stride, run.count - 1);
}

/// Windows of one block, if a block is larger than a cycle.
std::int64_t parts_of(const Run& domain, std::int64_t cycle_bytes) {
  return domain.length > cycle_bytes ? (domain.length + cycle_bytes - 1) / cycle_bytes : 1;
}

/// Blocks of one window, if a cycle holds several.
std::int64_t blocks_of(const Run& domain, std::int64_t cycle_bytes) {
  return std::max<std::int64_t>(1, cycle_bytes / domain.length);
}

struct FloorSums {
  Wide f = 0;  ///< sum of q(i)
  Wide g = 0;  ///< sum of i * q(i)
  Wide h = 0;  ///< sum of q(i)^2
};

/// Sums over i in [0, n] of q(i) = floor((a i + b) / c), the Euclid-like way; a, b >= 0, c > 0.
FloorSums floor_sums(Wide n, Wide a, Wide b, Wide c) {
  FloorSums sums;
  const Wide linear = n * (n + 1) / 2;
  const Wide square = n * (n + 1) * (2 * n + 1) / 6;
  if (a >= c || b >= c) {
    const Wide qa = a / c, qb = b / c;
    const auto rest = floor_sums(n, a % c, b % c, c);
    sums.f = rest.f + linear * qa + (n + 1) * qb;
    sums.g = rest.g + qa * square + qb * linear;
    sums.h = rest.h + 2 * qb * rest.f + 2 * qa * rest.g + qa * qa * square + 2 * qa * qb * linear +
             qb * qb * (n + 1);
    return sums;
  }
  const Wide m = (a * n + b) / c;
  if (m == 0) return sums;
  const auto turned = floor_sums(m - 1, c, c - b - 1, a);
  sums.f = n * m - turned.f;
  sums.g = (m * n * (n + 1) - turned.h - turned.f) / 2;
  sums.h = n * m * (m + 1) - 2 * turned.g - 2 * turned.f - sums.f;
  return sums;
}

/// Sum over i in [0, n) of the bytes of an endless run (block `unit`, from 0, every `period`) below
/// first + i step.
Wide bytes_below_endless(Wide first, Wide step, Wide n, Wide unit, Wide period) {
  if (n <= 0) return 0;
  // q = floor(x / T) whole periods, and in the last one min(x mod T, u). With p = floor((x + T - u)
  // / T), p - q is 1 where x mod T has reached u, so the minimum is (p - q) u + (1 - (p - q)) (x -
  // q T), of which every product is a sum of the kinds above.
  const auto q = floor_sums(n - 1, step, first, period);
  const auto p = floor_sums(n - 1, step, first + period - unit, period);
  const Wide reached = p.f - q.f;
  const Wide reached_i = p.g - q.g;
  const Wide reached_q = (p.h - q.h - reached) / 2;
  const Wide sum_x = n * first + step * (n * (n - 1) / 2);
  const Wide reached_x = first * reached + step * reached_i;
  return unit * q.f + unit * reached + (sum_x - period * q.f) - (reached_x - period * reached_q);
}

/// Sum over i in [0, n) of the bytes of `run` below first + i step.
Wide bytes_below(const Run& run, std::int64_t first, std::int64_t step, std::int64_t n) {
  // Offsets before the run see nothing of it, those behind all of it; between them the run is as
  // good as endless.
  const auto reaching = [&](std::int64_t offset) {  // how many i have first + i step < offset
    if (first >= offset) return std::int64_t{0};
    return step == 0 ? n : std::min(n, (offset - first - 1) / step + 1);
  };
  const auto before = reaching(run.offset);
  const auto inside = std::max(before, reaching(run.end()));
  const auto period = run.count > 1 ? run.stride : run.length;
  return bytes_below_endless(first + before * step - run.offset, step, inside - before, run.length,
                             period) +
         Wide{n - inside} * run.bytes();
}

}  // namespace

std::int64_t windows_begun(const Run& domain, std::int64_t cycle_bytes, std::int64_t offset) {
  if (offset <= domain.offset || domain.length <= 0 || domain.count <= 0) return 0;
  const auto block = block_before(domain, offset);
  const auto parts = parts_of(domain, cycle_bytes);
  if (domain.length > cycle_bytes)
    return block * parts + std::min(parts, (offset - domain.block(block) - 1) / cycle_bytes + 1);
  return block / blocks_of(domain, cycle_bytes) + 1;
}

std::int64_t windows_ended(const Run& domain, std::int64_t cycle_bytes, std::int64_t offset) {
  if (offset <= domain.offset || domain.length <= 0 || domain.count <= 0) return 0;
  const auto block = block_before(domain, offset);
  const auto within = offset - domain.block(block);
  const auto parts = parts_of(domain, cycle_bytes);
  if (domain.length > cycle_bytes)
    return block * parts + (within >= domain.length ? parts : within / cycle_bytes);
  const auto ended = block + (within >= domain.length ? 1 : 0);
  const auto blocks = blocks_of(domain, cycle_bytes);
  return ended == domain.count ? (domain.count + blocks - 1) / blocks : ended / blocks;
}

Extent windows_holding(const Run& domain, std::int64_t cycle_bytes, Extent range) {
  if (range.empty() || range.end <= domain.offset || range.begin >= domain.end()) return {};
  const auto last = block_before(domain, range.end);
  std::int64_t first = 0;
  if (range.begin > domain.offset) {
    first = block_before(domain, range.begin);
    if (range.begin - domain.block(first) >= domain.length) ++first;
  }
  if (first > last) return {};
  if (domain.length <= cycle_bytes) {
    const auto blocks = blocks_of(domain, cycle_bytes);
    return {first / blocks, last / blocks + 1};
  }
  const auto parts = parts_of(domain, cycle_bytes);
  const auto begin = std::max<std::int64_t>(0, range.begin - domain.block(first)) / cycle_bytes;
  const auto end = std::min(domain.length, range.end - domain.block(last)) - 1;
  return {first * parts + begin, last * parts + end / cycle_bytes + 1};
}

std::int64_t common_bytes(const Run& a, const Run& b) {
  if (a.bytes() == 0 || b.bytes() == 0) return 0;
  const auto ends = bytes_below(b, a.offset + a.length, a.stride, a.count);
  const auto begins = bytes_below(b, a.offset, a.stride, a.count);
  return static_cast<std::int64_t>(ends - begins);
}

std::int64_t bytes_in(const Access& access, const Run& domain) {
  if (access.bytes() == 0) return 0;
  if (domain.count == 1) return access.clip({domain.offset, domain.end()}).size();
  std::int64_t bytes = 0;
  visit_runs(access.file, access.begin, access.end,
             [&](const Run& run) { bytes += common_bytes(run, domain); });
  return bytes;
}

Runs runs_in(const Access& access, const Run& window) {
  Runs runs;
  for (std::int64_t i = 0; i < window.count; ++i) {
    const auto begin = window.block(i);
    const auto part = access.clip({begin, begin + window.length});
    visit_runs(access.file, part.begin, part.end, [&](Run run) {
      run.offset += i * window.length - begin;
      append(runs, run);
    });
  }
  return runs;
}

}  // namespace choir::model
