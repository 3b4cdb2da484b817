// inputs.hpp: from options to a recording and a machine. Throws std::runtime_error or
// std::invalid_argument with a message for the user.
#pragma once

#include <string>
#include <vector>

#include "place/machine.hpp"
#include "place/recording.hpp"

namespace choir::place {

struct AccessOptions {
  std::vector<std::string> recordings;
  std::string cart;
  std::string tile;
  int element_bytes = 8;
};

struct Access {
  Recording recording;
  std::vector<int> given_set;  ///< of a grid: rows that belong together
};
Access load_access(const AccessOptions& options);

struct MachineOptions {
  int nodes = 0;
  int cores = 0;
  std::string hostfile;
  bool slurm = false;
  std::string arch;
  std::string levels;
  bool hwloc = false;
  std::string hwloc_xml;
};
Machine load_machine(const MachineOptions& options);

}  // namespace choir::place
