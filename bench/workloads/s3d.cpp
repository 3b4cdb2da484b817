// s3d.cpp: the checkpoint of the S3D combustion code.
//
// Source: the S3D I/O kernel (the Nessie staging paper, section 3.3). A three-dimensional domain
// cut in blocks; four variables: mass fractions (11 components), velocity (3), pressure and
// temperature. Components are separate 3-D arrays inside a 4-D one; each variable has its own place
// in the file, its own view and one collective call.
#include <sstream>

#include "shapes.hpp"

namespace choir::bench {

namespace {

std::vector<int> components_of(const std::string& text) {
  std::vector<int> components;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    const int number = std::atoi(word.c_str());
    if (number < 1 || number > 1000)
      throw Unsuitable("parameter components=" + text +
                       ": numbers of 1 to 1000 between commas are expected");
    components.push_back(number);
  }
  if (components.empty()) throw Unsuitable("parameter components: at least one variable is needed");
  return components;
}

Program build(const Scale& scale) {
  const auto components = components_of(scale.text("components"));
  int total = 0;
  for (const auto number : components) total += number;
  const auto asked = static_cast<int>(scale.number("edge"));
  const auto edge =
      asked != 0 ? asked : cube_edge(at_least_one(scale.bytes_per_rank, 8 * total), 3);
  const auto block =
      box_of_rank(scale.rank, process_grid(scale.ranks, 3, true), {edge, edge, edge});

  Program program;
  std::int64_t base = 0;
  for (const auto number : components) {
    const Box box{{number, block.global[0], block.global[1], block.global[2]},
                  {number, edge, edge, edge},
                  {0, block.start[0], block.start[1], block.start[2]}};
    const auto view =
        program.add_view({base, MPI_DOUBLE, program.keep(subarray_type(box, MPI_DOUBLE))});
    program.add_packed_call(view, 0, pieces_of_box(box, 8, base));
    base += box.elements() * 8 * scale.ranks;
  }
  return program;
}

}  // namespace

Workload s3d_workload() {
  return {"s3d",
          "S3D checkpoint: 3-D blocks, four variables, a view each",
          0,
          {{"components", "11,3,1,1", "components of each variable"},
           {"edge", "0", "points along a rank's cube; 0: as --bytes-per-rank allows"}},
          build};
}

}  // namespace choir::bench
