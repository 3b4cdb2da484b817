// machine.hpp: nodes, cores and what lies between them, and how many ranks each node is given.
//
// Readers throw std::invalid_argument with a message for the user.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace choir::place {

struct Node {
  std::string name;
  int cores = 1;
  bool operator==(const Node&) const = default;
};

/// A level inside a node, outermost first: each unit of the level above has `arity` of these.
struct Level {
  std::string name;
  int arity = 1;
  bool operator==(const Level&) const = default;
};

struct Machine {
  std::vector<Node> nodes;
  std::vector<Level> levels;
  /// Cost of a byte from node i to node j (i * nodes + j), 1 for the cheapest link; empty: all
  /// links alike.
  std::vector<double> cost;

  int size() const { return static_cast<int>(nodes.size()); }
  int cores() const;
  double cost_between(int a, int b) const;
};

/// Throws unless every node has a distinct name and a core.
void check(const Machine& machine);

Machine uniform_machine(int nodes, int cores, const std::string& prefix = "node");

/// Open MPI's `host slots=N`, MPICH's `host:N`, or plain hosts, which count once per line.
Machine read_hostfile(std::istream& in, const std::string& name);

/// Slurm's SLURM_JOB_NODELIST and SLURM_JOB_CPUS_PER_NODE (or SLURM_TASKS_PER_NODE).
Machine slurm_machine(const std::function<const char*(const char*)>& environment);
/// "n[01-03,7],login" to names.
std::vector<std::string> expand_host_list(const std::string& list);
/// "16(x3),8" to numbers.
std::vector<int> expand_counts(const std::string& list);

/// "socket:2,cache:2,core:8"
std::vector<Level> parse_levels(const std::string& text);
/// Sockets, last-level caches and cores of this host, or of an hwloc XML file if a path is given.
std::vector<Level> hwloc_levels(const std::string& xml_path);

enum class Fill {
  spread,  ///< every node with the same part of its cores busy
  packed,  ///< node after node, as byslot does
};

/// Ranks per node; they add up to `ranks`. Throws if the ranks do not fit, unless `oversubscribe`.
std::vector<int> loads(const Machine& machine, int ranks, Fill fill, bool oversubscribe = false);

/// `total` in proportion to `weights`, each at most its weight if total <= their sum.
std::vector<int> share(int total, const std::vector<int>& weights);

}  // namespace choir::place
