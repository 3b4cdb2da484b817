#include "place/machine.hpp"

#include <fmt/core.h>
#include <hwloc.h>

#include <algorithm>
#include <istream>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>

namespace choir::place {

namespace {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw std::invalid_argument(fmt::format(text, std::forward<Args>(args)...));
}

std::optional<int> whole_number(const std::string& text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  if (text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoi(text);
}

int positive(const std::string& text, const std::string& what) {
  const auto value = whole_number(text);
  if (!value || *value < 1) refuse("{}: '{}' is not a positive number", what, text);
  return *value;
}

/// Splits at commas outside brackets.
std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth < 0 || depth > 1) refuse("host list '{}': brackets do not match", list);
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (depth != 0) refuse("host list '{}': brackets do not match", list);
  return parts;
}

void expand_range(const std::string& range, const std::string& before, const std::string& after,
                  std::vector<std::string>& names) {
  const auto dash = range.find('-');
  const auto low = range.substr(0, dash);
  const auto high = dash == std::string::npos ? low : range.substr(dash + 1);
  const auto from = whole_number(low), to = whole_number(high);
  if (!from || !to || *to < *from) refuse("host list: '{}' is not a range", range);
  if (*to - *from > 1'000'000) refuse("host list: the range '{}' is too long", range);
  for (int i = *from; i <= *to; ++i)
    names.push_back(fmt::format("{}{:0{}}{}", before, i, low.size(), after));
}

struct Slots {
  std::string host;
  int slots = 1;
};

Slots parse_host_line(const std::string& line, const std::string& where) {
  std::istringstream words(line);
  Slots result;
  words >> result.host;
  if (const auto colon = result.host.find(':'); colon != std::string::npos) {
    result.slots = positive(result.host.substr(colon + 1), where);
    result.host.resize(colon);
  }
  for (std::string word; words >> word;) {
    if (word.rfind("slots=", 0) == 0)
      result.slots = positive(word.substr(6), where);
    else if (word.rfind("max_slots=", 0) != 0 && word.rfind("max-slots=", 0) != 0)
      refuse("{}: '{}' is neither slots=N nor max_slots=N", where, word);
  }
  if (result.host.empty()) refuse("{}: no host name", where);
  return result;
}

}  // namespace

int Machine::cores() const {
  return std::accumulate(nodes.begin(), nodes.end(), 0,
                         [](int sum, const Node& n) { return sum + n.cores; });
}

double Machine::cost_between(int a, int b) const {
  if (a == b) return 0;
  return cost.empty()
             ? 1
             : cost[static_cast<std::size_t>(a) * nodes.size() + static_cast<std::size_t>(b)];
}

void check(const Machine& machine) {
  if (machine.nodes.empty()) refuse("the machine has no nodes");
  std::set<std::string> names;
  for (const auto& node : machine.nodes) {
    if (node.name.empty()) refuse("a node has no name");
    if (node.cores < 1) refuse("node {} has no cores", node.name);
    if (!names.insert(node.name).second) refuse("node {} is named twice", node.name);
  }
}

Machine uniform_machine(int nodes, int cores, const std::string& prefix) {
  if (nodes < 1) refuse("{} nodes: at least one is needed", nodes);
  if (cores < 1) refuse("{} cores: a node needs at least one", cores);
  Machine machine;
  for (int i = 0; i < nodes; ++i) machine.nodes.push_back({fmt::format("{}{}", prefix, i), cores});
  return machine;
}

Machine read_hostfile(std::istream& in, const std::string& name) {
  Machine machine;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto entry = parse_host_line(line, fmt::format("{}:{}", name, number));
    const auto known = std::find_if(machine.nodes.begin(), machine.nodes.end(),
                                    [&](const Node& node) { return node.name == entry.host; });
    if (known == machine.nodes.end())
      machine.nodes.push_back({entry.host, entry.slots});
    else
      known->cores += entry.slots;
  }
  if (machine.nodes.empty()) refuse("{}: no hosts", name);
  return machine;
}

std::vector<std::string> expand_host_list(const std::string& list) {
  std::vector<std::string> names;
  for (const auto& part : split_list(list)) {
    const auto open = part.find('[');
    if (open == std::string::npos) {
      if (part.empty()) refuse("host list '{}': a name is empty", list);
      names.push_back(part);
      continue;
    }
    const auto close = part.find(']');
    if (part.find('[', close) != std::string::npos)
      refuse("host list '{}': only one bracket per name is understood", list);
    std::istringstream ranges(part.substr(open + 1, close - open - 1));
    for (std::string range; std::getline(ranges, range, ',');)
      expand_range(range, part.substr(0, open), part.substr(close + 1), names);
  }
  return names;
}

std::vector<int> expand_counts(const std::string& list) {
  std::vector<int> counts;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto open = part.find("(x");
    int times = 1;
    if (open != std::string::npos) {
      if (part.back() != ')') refuse("'{}' is not of the form 16(x3)", part);
      times = positive(part.substr(open + 2, part.size() - open - 3), "repetition");
    }
    counts.insert(counts.end(), static_cast<std::size_t>(times),
                  positive(part.substr(0, open), "count per node"));
  }
  return counts;
}

Machine slurm_machine(const std::function<const char*(const char*)>& environment) {
  const auto first_of = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names)
      if (const char* value = environment(name)) return value;
    return {};
  };
  const auto list = first_of({"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (list.empty()) refuse("SLURM_JOB_NODELIST is not set: not inside a Slurm allocation");
  const auto counts_text = first_of({"SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  if (counts_text.empty())
    refuse("neither SLURM_JOB_CPUS_PER_NODE nor SLURM_TASKS_PER_NODE is set");
  const auto names = expand_host_list(list);
  const auto counts = expand_counts(counts_text);
  if (names.size() != counts.size())
    refuse("Slurm names {} nodes but gives core counts for {}", names.size(), counts.size());
  Machine machine;
  for (std::size_t i = 0; i < names.size(); ++i) machine.nodes.push_back({names[i], counts[i]});
  return machine;
}

std::vector<Level> parse_levels(const std::string& text) {
  std::vector<Level> levels;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto colon = part.find(':');
    if (colon == std::string::npos || colon == 0)
      refuse("level '{}' is not of the form NAME:COUNT", part);
    levels.push_back({part.substr(0, colon), positive(part.substr(colon + 1), "level " + part)});
  }
  if (levels.empty()) refuse("no levels given");
  return levels;
}

std::vector<Level> hwloc_levels(const std::string& xml_path) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) refuse("hwloc cannot be initialised");
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(
      raw, hwloc_topology_destroy);
  if (!xml_path.empty() && hwloc_topology_set_xml(raw, xml_path.c_str()) != 0)
    refuse("hwloc cannot read {}", xml_path);
  if (hwloc_topology_load(raw) != 0)
    refuse("hwloc cannot load the topology{}{}", xml_path.empty() ? "" : " of ", xml_path);
  std::vector<Level> levels;
  int above = 1;
  const auto add = [&](const char* name, hwloc_obj_type_t type) {
    const int count = hwloc_get_nbobjs_by_type(raw, type);
    if (count <= above || count % above != 0) return;  // absent, or says nothing new
    levels.push_back({name, count / above});
    above = count;
  };
  add("socket", HWLOC_OBJ_PACKAGE);
  add("cache", HWLOC_OBJ_L3CACHE);
  add("core", HWLOC_OBJ_CORE);
  if (levels.empty()) levels.push_back({"core", 1});
  return levels;
}

std::vector<int> share(int total, const std::vector<int>& weights) {
  const auto sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  std::vector<int> result;
  std::int64_t before = 0, given = 0;
  for (const int weight : weights) {
    before += weight;
    const auto upto =
        sum == 0 ? 0 : before * total / sum;  // cumulative, so that nothing is lost to rounding
    result.push_back(static_cast<int>(upto - given));
    given = upto;
  }
  return result;
}

std::vector<int> loads(const Machine& machine, int ranks, Fill fill, bool oversubscribe) {
  const int cores = machine.cores();
  if (ranks > cores && !oversubscribe)
    refuse("{} ranks do not fit on {} cores of {} nodes", ranks, cores, machine.size());
  std::vector<int> weights;
  for (const auto& node : machine.nodes) weights.push_back(node.cores);
  if (fill == Fill::spread || ranks > cores) return share(ranks, weights);
  int left = ranks;
  for (auto& weight : weights) left -= weight = std::min(weight, left);
  return weights;
}

}  // namespace choir::place
