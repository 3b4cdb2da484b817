// machine_costs.hpp: what moving bytes costs on one kind of machine, as one value.
//
// All estimates of strategies and the nodes of `choir model` are computed from it. The defaults are
// compiled in: a virtual machine with 2 cores of an AMD EPYC (Zen 5), Linux 6.1, ext4, 2026-11, and
// what was published of a machine with 16 cores (tests/unit/plan/published_test.cpp). Where `choir
// measure` has measured the machine, its figures stand here (settings/machine_file.hpp).
#pragma once

namespace choir {

/// The cost of something that several ranks do at the same time: a part that takes as long as if
/// one did it all (a lock, one memory), and a part that they share out.
struct SharedCost {
  double together = 0;  ///< seconds for all, whoever does it
  double divided = 0;   ///< seconds for one; below zero where ranks hinder each other

  /// Seconds of one unit when so many do it at once.
  constexpr double at(double ranks) const { return together + divided / ranks; }
  bool operator==(const SharedCost&) const = default;
};

/// t = bytes * per_byte + requests * per_request.
struct RequestCost {
  SharedCost per_byte, per_request;

  constexpr double at(double ranks, double bytes, double requests) const {
    return bytes * per_byte.at(ranks) + requests * per_request.at(ranks);
  }
  bool operator==(const RequestCost&) const = default;
};

/// The host MPI's own collective calls on one file.
struct HostCosts {
  double copies = 2;  ///< of each byte on its way into the aggregator's buffer, by the aggregator
  double pieces = 4;  ///< the cost of a piece, so many times, at the aggregator
  bool operator==(const HostCosts&) const = default;
};
/// Fitted to 16 cores: 512 MiB in pieces of 512 B, 276 to 410 ms (MPICH) and 850 to 1030 ms (Open
/// MPI); 32 MiB in pieces of 4 KiB, 17.5 and 36.5 ms.
inline constexpr HostCosts romio_costs{2, 4}, ompio_costs{5, 40};

/// Seconds, bytes. Where a line has two figures they are {together, divided}.
struct MachineCosts {
  bool measured = false;  ///< by `choir measure`, on this kind of node and this mount

  // Memory. Measured by `choir measure`, 2 cores; 5 GB/s a rank was confirmed on 16.
  SharedCost copy{0, 0.15e-9};             ///< a byte from one rank's memory into shared memory
  SharedCost copy_cached{0, 0.075e-9};     ///< the same while all of it stays in the caches
  double cached_bytes_per_core = 2 << 20;  ///< which holds for so many bytes
  double piece = 10e-9;                    ///< processor time of one piece of a pattern

  // Files on a local file system. A buffered write holds the lock of the file, be its blocks new
  // or not, so that writes of all ranks take as long as if one made them.
  RequestCost write_new{{0.24e-9, 0}, {2.8e-6, 0}};  ///< blocks have to be found
  RequestCost write_again{{0.15e-9, 0}, {1e-6, 0}};  ///< to pages that are in memory
  SharedCost write_cached{0.0375e-9, 0};  ///< a byte of them, if the file fits the caches
  RequestCost read{{0, 0.15e-9}, {0, 1e-6}};

  // Mapping: asking for blocks and making pages present goes through the file system as well.
  // Fitted to 16 MiB of new file in 20 ms by 8 ranks.
  RequestCost reserve{{0.002e-9, 0}, {9e-6, 0}};  ///< of blocks, ahead of stores
  SharedCost fault_new{1.0e-9, 0.2e-9};      ///< a byte made writable where blocks were reserved
  SharedCost fault_again{0.02e-9, 0.06e-9};  ///< a byte made writable that is in memory
  SharedCost fault_read{0, 0.04e-9};         ///< a byte made readable
  double fault_block = 6e-6;                 ///< and what a small block costs besides
  double map_first = 1.2e-6;                 ///< the mapping itself, shared by dozens of calls
  double map_again = 4e-6;                   ///< for stores into what was written by requests

  // Meetings: an aggregator opens a window, the others fill it.
  double meeting = 6e-6;
  double meeting_crowded = 20e-6;   ///< with more ranks than cores
  double meeting_between = 0.2e-3;  ///< by messages between nodes
  double network_byte = 1e-9;       ///< a byte between nodes

  // Data servers. Not measured: they only order candidates. `choir iobench` and `choir model` say
  // more.
  RequestCost server{{0, 0.2e-9}, {0, 0.5e-3}};

  HostCosts host = romio_costs;

  bool operator==(const MachineCosts&) const = default;
};

/// What is compiled in.
inline constexpr MachineCosts usual_machine{};

}  // namespace choir
