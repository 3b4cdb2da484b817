// heatmap.hpp: the application matrix as a picture, before and after placement.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "place/placement.hpp"

namespace choir::place {

struct Panel {
  std::string title;
  std::vector<int> node_of;  ///< ranks are drawn node by node
};

/// One square per panel, dark where ranks share many bytes (logarithmic), lines between nodes. At
/// most 256 cells a side: large matrices are summed into cells.
void write_heatmap(std::ostream& out, const Graph& graph, const std::vector<Panel>& panels);

}  // namespace choir::place
