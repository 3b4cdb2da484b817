#include "benchmark.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <numeric>
#include <random>
#include <stdexcept>

#include "place/placement.hpp"
#include "place/recorder.hpp"

namespace choir::place {

namespace {

constexpr int node_cores = 32;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peak_mib() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) throw std::runtime_error("getrusage failed");
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Rank r has tile tile_of[r] of rows of `row_tiles` tiles of 64 x 64 elements of 8 bytes.
GatheredRuns shuffled_tiles(const std::vector<int>& tile_of, std::int64_t row_tiles) {
  constexpr std::int64_t width = 64 * 8;
  const std::int64_t row = width * row_tiles, tile_row = row * 64;
  GatheredRuns runs;
  for (const int tile : tile_of) {
    const AccessRun run{tile / row_tiles * tile_row + tile % row_tiles * width, width, row, 64};
    runs.append_rank({&run, 1});
  }
  return runs;
}

/// Blocks of 32 neighbouring tiles that do not share a node.
int torn_blocks(const std::vector<int>& tile_of, const std::vector<int>& node_of, int blocks) {
  std::vector<int> node_of_block(static_cast<std::size_t>(blocks), -1);
  std::vector<char> torn(node_of_block.size());
  for (std::size_t rank = 0; rank < tile_of.size(); ++rank) {
    const auto block = static_cast<std::size_t>(tile_of[rank] / node_cores);
    if (node_of_block[block] < 0) node_of_block[block] = node_of[rank];
    torn[block] = torn[block] || node_of_block[block] != node_of[rank];
  }
  return std::accumulate(torn.begin(), torn.end(), 0);
}

template <class Place>
void measure(const char* name, const std::vector<int>& tile_of, Place&& place) {
  const int blocks = (static_cast<int>(tile_of.size()) + node_cores - 1) / node_cores;
  const auto start = std::chrono::steady_clock::now();
  const auto parts = place();
  fmt::print("  {:<10} {:12.3f} ms   {} of {} blocks torn   peak memory {:.1f} MiB\n", name,
             seconds_since(start) * 1e3, torn_blocks(tile_of, parts, blocks), blocks, peak_mib());
}

void measure_rows(const char* title, const std::vector<int>& tile_of, std::int64_t row_tiles) {
  const auto ranks = static_cast<int>(tile_of.size());
  fmt::print("{}\n", title);
  auto start = std::chrono::steady_clock::now();
  Recorder recorder(ranks);
  recorder.add_call(shuffled_tiles(tile_of, row_tiles));
  const auto recording = recorder.recording();
  fmt::print("  {:<10} {:12.3f} ms\n", "record", seconds_since(start) * 1e3);

  start = std::chrono::steady_clock::now();
  const auto machine = uniform_machine((ranks + node_cores - 1) / node_cores, node_cores);
  const auto graph = graph_of(recording.contacts(), ranks);
  const auto position = positions_of(recording);
  const Problem problem{recording, graph, position, machine, loads(machine, ranks, Fill::packed)};
  fmt::print("  {:<10} {:12.3f} ms\n", "matrix", seconds_since(start) * 1e3);

  measure("setmatch", tile_of, [&] { return setmatch({graph, problem.load, position}); });
  constexpr int bearable = 1024;
  if (ranks <= bearable) measure("mpipp", tile_of, [&] { return mpipp(problem); });
}

}  // namespace

void benchmark(int ranks) {
  std::vector<int> tile_of(static_cast<std::size_t>(ranks));
  std::iota(tile_of.begin(), tile_of.end(), 0);
  std::mt19937_64 random(1);
  for (std::size_t i = tile_of.size(); i > 1; --i) std::swap(tile_of[i - 1], tile_of[random() % i]);
  fmt::print("{} ranks on nodes of {} cores\n", ranks, node_cores);
  measure_rows("rows of 32 tiles, one set per node:", tile_of, node_cores);
  measure_rows("one row of all tiles, one set to be split:", tile_of, ranks);
}

}  // namespace choir::place
