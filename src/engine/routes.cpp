#include "engine/routes.hpp"

#include <algorithm>

#include "engine/lane.hpp"

namespace choir {
namespace {

/// As many as an aggregator has cycle buffers.
constexpr std::size_t calls_at_once = 2;

bool poll_all(Tasks& lanes) {
  bool advanced = false;
  for (auto& lane : lanes)
    if (lane->poll()) advanced = true;
  std::erase_if(lanes, [](const auto& lane) { return lane->done(); });
  return advanced;
}

}  // namespace

void Routes::add(Context& call) {
  std::map<int, Tasks> lanes;
  add_lanes(call, [&](int rank) -> Tasks& { return lanes[rank]; });
  for (auto& [rank, tasks] : lanes) towards_[rank].push_back(std::move(tasks));
}

bool Routes::poll() {
  bool advanced = false;
  for (auto& [rank, calls] : towards_) {
    for (std::size_t i = 0; i < std::min(calls_at_once, calls.size()); ++i)
      if (poll_all(calls[i])) advanced = true;
    // An earlier call's lanes may take longer; what comes behind waits for both.
    std::erase_if(calls, [](const Tasks& lanes) { return lanes.empty(); });
  }
  std::erase_if(towards_, [](const auto& route) { return route.second.empty(); });
  return advanced;
}

}  // namespace choir
