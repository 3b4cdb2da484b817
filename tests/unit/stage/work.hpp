// work.hpp: what the ranks of a simulated node do between two barriers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "access/layout.hpp"
#include "stage/core/client.hpp"

namespace choir::stage::simulation {

inline constexpr std::int64_t file_bytes = 3000;  // of the part that ranks share out
inline constexpr int handles = 3;                 // two of the first file, one of the second

using Bytes = std::vector<unsigned char>;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool chance(double p) { return static_cast<double>(engine_() % 1000000) < p * 1000000; }

 private:
  std::mt19937_64 engine_;
};

inline Inode inode_of(int handle) { return {1, handle < 2 ? 10U : 11U}; }
inline OpenFile file_of(int handle) {
  return {static_cast<std::uint64_t>(handle) + 100, inode_of(handle)};
}

/// One thing a rank does.
struct Action {
  enum class What { write, check, size, sync, truncate, close };
  What what = What::write;
  int handle = 0;
  std::uint64_t call = 0;
  Access access;
  Bytes data;
  std::int64_t argument = 0;
};

using Actions = std::vector<std::deque<Action>>;  // by rank

/// Deals a phase's work: in each file every rank has bytes of its own, so that the order matters
/// across barriers and within a rank, and nowhere else.
class Dealer {
 public:
  Dealer(Dice& dice, int ranks) : dice_(dice), ranks_(ranks) {}

  Actions phase(bool with_truncate);
  Actions last_phase();

 private:
  void deal_calls(Actions& actions);
  void deal_alone(std::deque<Action>& actions, int rank);
  Action writing(int rank, int handle, std::uint64_t call);

  Dice& dice_;
  int ranks_;
  int grain_ = 1, turn_ = 0;            // of this phase
  std::map<int, std::uint64_t> calls_;  // collective ones made so far, by handle
};

}  // namespace choir::stage::simulation
