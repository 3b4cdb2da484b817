// launching.hpp: starts `choir bench` on the ranks of an MPI and takes its figures. Local.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "plan.hpp"

namespace choir::rounds {

struct Place {
  std::string root;       // of the source tree, with build/MPI and scripts/mpi-launch
  std::string directory;  // for the files
};

/// True if choir bench is built for this MPI.
bool is_built(const Place& place, const std::string& mpi);

/// Carries out a launch with these contenders; `memory` is what CHOIR_MEMORY says. Throws
/// std::runtime_error with what the program said if it fails or takes more than two minutes.
nlohmann::json carry_out(const Place& place, const Launch& launch,
                         const std::vector<std::string>& contenders, const std::string& memory);

/// Another process that fills memory and disk while this object lives.
class Disturbance {
 public:
  explicit Disturbance(const std::string& directory);
  Disturbance(const Disturbance&) = delete;
  Disturbance& operator=(const Disturbance&) = delete;
  ~Disturbance();

 private:
  int process_;
  std::string file_;
};

/// Model and number of processors, host, choir's version: figures of another are not mixed in.
nlohmann::json this_machine();

}  // namespace choir::rounds
