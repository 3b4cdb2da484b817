// host_key.hpp: a number that is equal exactly for processes that can share memory.
//
// MPI_Comm_split_type is not asked: MPICH's launcher takes every line of a machine file for a node
// of its own, so ranks of one host that are not consecutive would never meet in shared memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace choir {

/// What tells hosts apart; unknown parts stay empty.
struct HostIdentity {
  std::string name;          ///< of the host
  std::string boot;          ///< of the running kernel, random at each boot
  std::uint64_t memory = 0;  ///< the mounted /dev/shm: containers of one kernel may have their own
};

HostIdentity this_host();
/// Never 0.
std::uint64_t key_of(const HostIdentity& host);

}  // namespace choir
