#include "place/output.hpp"

#include <fmt/core.h>

#include <array>
#include <ostream>
#include <stdexcept>

namespace choir::place {

namespace {

void openmpi(std::ostream& out, std::size_t rank, const std::string& host, int core) {
  out << fmt::format("rank {}={} slot={}\n", rank, host, core);
}
void list(std::ostream& out, std::size_t rank, const std::string& host, int core) {
  out << fmt::format("{} {} {}\n", rank, host, core);
}
void slurm(std::ostream& out, std::size_t, const std::string& host, int) { out << host << '\n'; }

/// Hydra fills its hosts in the order of the file, so consecutive ranks of one node share a line.
void mpich(std::ostream& out, const Machine& machine, const Placement& placement) {
  const auto& node_of = placement.node_of;
  for (std::size_t first = 0; first < node_of.size();) {
    std::size_t past = first;
    while (past < node_of.size() && node_of[past] == node_of[first]) ++past;
    out << machine.nodes[static_cast<std::size_t>(node_of[first])].name << ':' << past - first
        << '\n';
    first = past;
  }
}

struct Format {
  const char* name;
  void (*line)(std::ostream&, std::size_t rank, const std::string& host, int core);
};
constexpr std::array formats{Format{"openmpi", openmpi}, Format{"slurm", slurm},
                             Format{"list", list}};

}  // namespace

void write_placement(std::ostream& out, const std::string& format, const Machine& machine,
                     const Placement& placement) {
  if (format == "mpich") return mpich(out, machine, placement);
  for (const auto& known : formats) {
    if (format != known.name) continue;
    for (std::size_t rank = 0; rank < placement.node_of.size(); ++rank)
      known.line(out, rank, machine.nodes[static_cast<std::size_t>(placement.node_of[rank])].name,
                 placement.core_of[rank]);
    return;
  }
  throw std::invalid_argument("unknown format '" + format + "'; known: openmpi mpich slurm list");
}

}  // namespace choir::place
