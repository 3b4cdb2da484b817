// hold.hpp: the node's memory in which bytes are held, as processes map it.
//
// A memory file without a name: nothing is left behind when the last process that has it is gone.
// It is as large as it may ever become and takes what is used. A rank can write into its own part
// and into the keeper's bell, nowhere else: a wild pointer must not reach a neighbour's checkpoint.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/doorbell.hpp"
#include "stage/core/client.hpp"
#include "stage/core/part.hpp"
#include "storage/descriptor.hpp"

namespace choir::stage {

struct HoldShape {
  int ranks = 1;
  std::uint64_t slots = 4096;
  std::uint64_t arena_bytes = 1ULL << 30;  ///< the most that one rank may ever hold
};

/// Makes the hold. Throws std::system_error where there is no such memory.
Descriptor make_hold(const HoldShape& shape);

/// A stretch of the hold in this process.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int fd, std::uint64_t offset, std::uint64_t bytes, bool forks);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping other) noexcept;
  ~Mapping();
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// The hold as the keeper sees it: all of it.
class KeepersHold {
 public:
  /// Throws std::runtime_error where `fd` is no hold.
  explicit KeepersHold(int fd);

  std::vector<Part> parts() const;
  Bell& keepers_bell() const;
  Bell& ranks_bell(int rank) const;

 private:
  HoldShape shape_;
  Mapping memory_;
};

/// The hold as one rank sees it: its own part.
class RanksHold {
 public:
  RanksHold(int fd, int rank);

  Part part() const;
  /// Tells the keeper that something was committed.
  void ring_keeper() const { ring(*reinterpret_cast<Bell*>(keeper_.data())); }
  Bell& bell() const { return *reinterpret_cast<Bell*>(own_.data()); }

 private:
  Mapping keeper_, own_;
};

/// CLOCK_MONOTONIC: the same for all processes of the node.
class NodeClock : public Clock {
 public:
  std::int64_t now() override;
};

}  // namespace choir::stage
