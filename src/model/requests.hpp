// requests.hpp: what reaches the data servers, in which order, and how long the disks take.
//
// Requests are derived from what each aggregator covers; a queue per server and a clock per client
// then give seeks and time. Long streams are simulated from their beginning and scaled up;
// `sampled` says so. Pure.
#pragma once

#include "model/machine.hpp"
#include "model/traffic.hpp"

namespace choir::model {

/// The requests of one client, in the order it makes them: each block of each run is one request.
struct Stream {
  Runs requests;
  double part = 1;          ///< of the client's requests that `requests` holds
  bool reads_back = false;  ///< each request is read before it is written
};

struct StorageUse {
  std::int64_t requests = 0;         ///< of clients
  std::int64_t server_requests = 0;  ///< after striping
  std::int64_t seeks = 0;
  std::int64_t bytes = 0;  ///< moved at the servers, holes included
  std::int64_t most_requests_of_server = 0;
  int clients = 0;
  double busiest_s = 0;  ///< work of the busiest server
  double elapsed_s = 0;  ///< until the last client has its last answer
  double alone_s = 0;    ///< the longest client's requests if no other client were there
  bool sampled = false;
};

std::vector<Stream> streams_of(const Plan& plan, const Call& call);

/// `concurrent` clients at a time; 0: all.
StorageUse simulate(const std::vector<Stream>& streams, const Servers& servers, int concurrent);

/// What the given ranks ask for together, as ascending stretches; `part` is how much of it the
/// stretches are.
struct Coverage {
  Runs stretches;
  double part = 1;
};
Coverage covered(const Call& call, std::span<const int> ranks, std::int64_t most_blocks);

/// The requests that move what lies in `domain` of a covered pattern, a window after the other.
Stream stream_of(const Coverage& pattern, const Run& domain, std::int64_t cycle_bytes,
                 bool may_sieve, const Call& call);

}  // namespace choir::model
