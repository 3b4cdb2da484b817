// estimates.hpp: what choir would estimate for a step of a workload, strategy by strategy.
#pragma once

#include <string>
#include <vector>

#include "contender.hpp"
#include "program.hpp"

namespace choir::bench {

struct Ground {
  Operation operation = Operation::write;
  bool fresh = false;     ///< each step writes a new file
  std::string directory;  ///< of the file
};

/// Collective. Seconds of a step under each contender, in their order; 0: it is none of choir's
/// strategies, does not apply, or the ranks are not on one node. By the figures that a job would
/// use here.
std::vector<double> estimates_of(const std::vector<std::string>& contenders, const Program& program,
                                 const Ground& ground);

}  // namespace choir::bench
