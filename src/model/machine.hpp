// machine.hpp: the imaginary machine: nodes, links and data servers, as numbers. Bytes, seconds,
// bytes per second.
#pragma once

#include <cstdint>
#include <string>

#include "plan/machine_costs.hpp"

namespace choir::model {

struct Link {
  double latency_s = 0;
  double bandwidth = 0;
};

/// One data server is one queue before one disk. A request costs its bytes, a fixed time, and a
/// seek unless it continues the server's last one.
struct Servers {
  int count = 4;
  std::int64_t unit = 64 * 1024;  ///< stripe
  double bandwidth = 100e6;       ///< of one server
  double seek_s = 5e-3;
  double request_s = 50e-6;          ///< what a request costs besides, at the client and on its way
  std::int64_t largest_request = 0;  ///< a client cuts longer requests; 0: never
  double client_bandwidth = 0;       ///< of one client's way to the servers; 0: no limit of its own
  bool in_turn = false;  ///< the client waits for one part of a request before it sends the next
};

struct Machine {
  int ranks = 16;
  int nodes = 4;
  int cores = 4;                                      ///< per node
  Link between{30e-6, 117e6};                         ///< one node's link to the others, each way
  Link inside{0.5e-6, 1 / usual_machine.copy.at(1)};  ///< one core copying through shared memory
  double message_s = 5e-6;               ///< processor time of one message at either end
  double piece_s = usual_machine.piece;  ///< processor time of one piece
  bool shared_cores = false;  ///< all nodes share `cores` cores, as in a lab on one computer
  double wait_s = 0;          ///< until a waiting rank gets its turn on a busy core
  /// Messages up to this arrive also while the receiver sits in a system call, as MPI libraries
  /// send small ones; longer ones wait until it is back.
  std::int64_t eager_bytes = 0;
  Servers servers;
};

}  // namespace choir::model
