// output.hpp: a placement in the words of launchers.
#pragma once

#include <iosfwd>
#include <string>

#include "place/placement.hpp"

namespace choir::place {

/// openmpi: a rankfile (mpirun --rankfile). mpich: hosts in rank order (mpiexec -f). slurm: hosts
/// in rank order (SLURM_HOSTFILE with srun --distribution=arbitrary). list: "rank host core".
/// Throws std::invalid_argument for another format.
void write_placement(std::ostream& out, const std::string& format, const Machine& machine,
                     const Placement& placement);

}  // namespace choir::place
