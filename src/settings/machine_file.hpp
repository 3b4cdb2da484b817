// machine_file.hpp: what `choir measure` found out about one kind of node and one mount, as text.
//
// Lines `name = value`; one that begins with `#` is a comment. A file that is damaged, or of
// another version, is refused as a whole: a figure that is missing would be a guess among
// measurements. Pure.
#pragma once

#include <string>

#include "plan/machine_costs.hpp"

namespace choir {

/// Nodes whose figures are worth the same.
struct HostKind {
  std::string cpu;  ///< model, as the kernel names it
  int cores = 0;
  std::string kernel;  ///< major.minor

  std::string words() const;
  bool operator==(const HostKind&) const = default;
};

struct MachineFile {
  std::string date;  ///< of the measurement, 2026-11-19
  HostKind host;
  std::string file_system;  ///< type
  std::string mount;        ///< where it is mounted
  MachineCosts costs;
};

std::string serialise(const MachineFile& machine);
/// Throws std::runtime_error with what is wrong.
MachineFile parse_machine(const std::string& text);

}  // namespace choir
