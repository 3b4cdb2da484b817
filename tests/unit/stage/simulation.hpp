// simulation.hpp: ranks, keeper and disk of a node in one process, on a seeded dice.
//
// Every step anybody could take is one event; the dice say who takes the next. Keepers are killed
// between any two steps of the protocol and started again; requests that were under way are then
// carried out in part. A model of plain byte arrays knows what every file must hold in the end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "stage/core/client.hpp"
#include "stage/core/keeper.hpp"

namespace choir::stage::simulation {

struct Options {
  std::uint64_t seed = 1;
  int phases = 6;       ///< between barriers
  double crash = 0.01;  ///< of a keeper, at each step of the protocol
  double full = 0.05;   ///< a request meets a full disk
  double broken = 0;    ///< a request meets a broken disk
  bool truncates = true;
  bool kills_rank = false;
};

struct Result {
  std::uint64_t events = 0;
  KeeperCounts counts;
  std::uint64_t keepers = 0;
  std::string failure;  ///< what went wrong; empty: nothing
};

Result run(const Options& options);

}  // namespace choir::stage::simulation
