// measured.hpp: machine parameters from what `choir netbench` and `choir iobench` wrote.
#pragma once

#include <string>

#include "model/machine.hpp"

namespace choir::model {

/// Links from a choir-arch document: means over all pairs of nodes, and over the nodes. Throws
/// std::runtime_error.
void use_netbench(Machine& machine, const std::string& path);

/// What one core copies, from a machine file of `choir measure`. Throws std::runtime_error.
void use_machine_file(Machine& machine, const std::string& path);

/// One server's bandwidth, seek and request cost from a choir-io document. Throws
/// std::runtime_error.
void use_iobench(Machine& machine, const std::string& path);

}  // namespace choir::model
