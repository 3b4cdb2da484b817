#include "inputs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "place/cart.hpp"
#include "place/recorder.hpp"

namespace choir::place {

namespace {

std::ifstream open(const std::string& path) {
  errno = 0;
  std::ifstream in(path);
  if (!in) throw std::runtime_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  return in;
}

Recording merged(const std::vector<std::string>& paths) {
  auto sum = read_file(paths.front());
  for (std::size_t i = 1; i < paths.size(); ++i) {
    try {
      merge(sum, read_file(paths[i]));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("{} and {}: {}", paths.front(), paths[i], error.what()));
    }
  }
  return sum;
}

/// What choir-netbench measured.
struct Architecture {
  std::vector<Node> nodes;
  std::vector<std::vector<double>> bandwidth;
};

Architecture read_architecture(const std::string& path) {
  auto in = open(path);
  Architecture arch;
  try {
    const auto json = nlohmann::json::parse(in);
    if (json.at("format") != "choir-arch")
      throw std::runtime_error("not an architecture matrix of choir-netbench");
    for (const auto& node : json.at("nodes"))
      arch.nodes.push_back({node.at("name"), node.at("cores")});
    arch.bandwidth = json.at("bandwidth_Bps").get<std::vector<std::vector<double>>>();
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", path, error.what()));
  }
  if (arch.bandwidth.size() != arch.nodes.size())
    throw std::runtime_error(fmt::format("{}: {} nodes but {} rows of bandwidths", path,
                                         arch.nodes.size(), arch.bandwidth.size()));
  for (std::size_t i = 0; i < arch.nodes.size(); ++i) {
    if (arch.bandwidth[i].size() != arch.nodes.size())
      throw std::runtime_error(fmt::format("{}: row {} has not one bandwidth per node", path, i));
    for (std::size_t j = 0; j < arch.nodes.size(); ++j)
      if (i != j && !(arch.bandwidth[i][j] > 0))
        throw std::runtime_error(fmt::format("{}: no bandwidth between {} and {}", path,
                                             arch.nodes[i].name, arch.nodes[j].name));
  }
  return arch;
}

/// Costs of the machine's links relative to the fastest one between nodes.
void add_costs(Machine& machine, const Architecture& arch, const std::string& path) {
  std::vector<std::size_t> row;
  for (const auto& node : machine.nodes) {
    const auto found = std::find_if(arch.nodes.begin(), arch.nodes.end(),
                                    [&](const Node& n) { return n.name == node.name; });
    if (found == arch.nodes.end())
      throw std::runtime_error(fmt::format("{} has no measurement of node {}", path, node.name));
    row.push_back(static_cast<std::size_t>(found - arch.nodes.begin()));
  }
  double fastest = 0;
  for (const auto i : row)
    for (const auto j : row)
      if (i != j) fastest = std::max(fastest, arch.bandwidth[i][j]);
  for (const auto i : row)
    for (const auto j : row) machine.cost.push_back(i == j ? 0 : fastest / arch.bandwidth[i][j]);
}

void require_one_source(const MachineOptions& options) {
  const int sources =
      (options.nodes > 0 || options.cores > 0) + !options.hostfile.empty() + options.slurm;
  if (sources > 1)
    throw std::invalid_argument("give only one of --nodes with --cores, --hostfile and --slurm");
  if (sources == 0 && options.arch.empty())
    throw std::invalid_argument(
        "which machine? give --nodes and --cores, --hostfile, --slurm or --arch");
  if ((options.nodes > 0) != (options.cores > 0))
    throw std::invalid_argument("--nodes and --cores belong together");
  if (options.nodes > 0 && !options.arch.empty())
    throw std::invalid_argument("--arch names its nodes; --nodes and --cores contradict it");
  if (!options.levels.empty() && (options.hwloc || !options.hwloc_xml.empty()))
    throw std::invalid_argument("give only one of --levels, --hwloc and --hwloc-xml");
}

/// Levels describe every node, so none may have fewer cores than the levels have units.
void check_levels(const Machine& machine) {
  std::int64_t units = 1;
  for (const auto& level : machine.levels) {
    units *= level.arity;
    for (const auto& node : machine.nodes)
      if (node.cores < units)
        throw std::invalid_argument(
            fmt::format("the levels down to '{}' have {} units, but node {} has only {} cores",
                        level.name, units, node.name, node.cores));
  }
}

Machine nodes_of(const MachineOptions& options) {
  if (options.nodes > 0) return uniform_machine(options.nodes, options.cores);
  if (options.slurm)
    return slurm_machine([](const char* name) -> const char* { return std::getenv(name); });
  if (options.hostfile.empty()) {
    Machine machine;
    machine.nodes = read_architecture(options.arch).nodes;
    return machine;
  }
  auto in = open(options.hostfile);
  return read_hostfile(in, options.hostfile);
}

}  // namespace

Access load_access(const AccessOptions& options) {
  if (!options.cart.empty() && !options.recordings.empty())
    throw std::invalid_argument("give recordings or --cart, not both");
  if (options.cart.empty() && options.recordings.empty())
    throw std::invalid_argument("nothing to place: give a recording or --cart");
  if (options.cart.empty() && !options.tile.empty())
    throw std::invalid_argument("--tile needs --cart");
  if (options.cart.empty()) return {merged(options.recordings), {}};
  const auto cart = parse_cart(options.cart, options.tile, options.element_bytes);
  Recorder recorder(cart.ranks());
  recorder.add_call(runs_of(cart));
  return {recorder.recording(), special_sets(cart)};
}

Machine load_machine(const MachineOptions& options) {
  require_one_source(options);
  auto machine = nodes_of(options);
  check(machine);
  if (!options.arch.empty()) add_costs(machine, read_architecture(options.arch), options.arch);
  if (!options.levels.empty()) machine.levels = parse_levels(options.levels);
  if (options.hwloc || !options.hwloc_xml.empty()) machine.levels = hwloc_levels(options.hwloc_xml);
  check_levels(machine);
  return machine;
}

}  // namespace choir::place
