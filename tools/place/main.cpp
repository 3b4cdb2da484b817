// choir-place: where the ranks of a program should run, from what it does to its files.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>

#include "benchmark.hpp"
#include "common/numbers.hpp"
#include "common/version.hpp"
#include "inputs.hpp"
#include "place/heatmap.hpp"
#include "place/output.hpp"
#include "report.hpp"

namespace choir::place {

namespace {

struct Options {
  AccessOptions access;
  MachineOptions machine;
  std::string algorithm = "auto";
  std::string strategy = "two_phase";
  std::string format = "list";
  std::string output;
  std::string json_path;
  std::string svg_path;
  std::string merge_path;
  std::string fill = "spread";
  bool oversubscribe = false;
  bool quiet = false;
  double significance = 0.1;
  unsigned seed = 1;
  int benchmark_ranks = 0;
  Parameters parameters;
};

// What is built for a machine has an entry for each node and server, and for cores in use: these
// are far beyond any machine, and still done in seconds.
constexpr int most_nodes = 1'000'000;
constexpr int most_cores = 100'000;
constexpr int most_servers = 100'000;

void add_options(CLI::App& app, Options& o) {
  app.add_option("recording", o.access.recordings,
                 "recordings of CHOIR_RECORD; several are added up");
  app.add_option("--cart", o.access.cart,
                 "a known decomposition instead, 16x8 or 16x8x4, outermost first");
  app.add_option("--tile", o.access.tile,
                 "elements of a rank's tile, like --cart (default 64x64 or 16x16x16)");
  app.add_option("--element", o.access.element_bytes, "bytes of an element")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--merge", o.merge_path, "only add up the recordings, into this file");

  auto* machine = app.add_option_group("machine");
  machine->add_option("--nodes", o.machine.nodes, "number of nodes")
      ->check(CLI::Range(1, most_nodes));
  machine->add_option("--cores", o.machine.cores, "cores per node")
      ->check(CLI::Range(1, most_cores));
  machine->add_option("--hostfile", o.machine.hostfile, "hosts with slots, of Open MPI or MPICH");
  machine->add_flag("--slurm", o.machine.slurm, "the Slurm allocation of this environment");
  machine->add_option("--arch", o.machine.arch, "architecture matrix of choir-netbench");
  machine->add_option("--levels", o.machine.levels,
                      "levels inside a node, socket:2,cache:2,core:8");
  machine->add_flag("--hwloc", o.machine.hwloc, "levels inside a node as on this host");
  machine->add_option("--hwloc-xml", o.machine.hwloc_xml,
                      "levels inside a node from an hwloc XML file");

  app.add_option("--algorithm", o.algorithm,
                 "setmatch, setmatchg, ranges, treematch, scotch, mpipp, byslot, bynode, auto")
      ->capture_default_str();
  app.add_option("--strategy", o.strategy, "whose bytes between nodes 'auto' makes few")
      ->capture_default_str();
  app.add_option("--fill", o.fill, "with fewer ranks than cores: spread or packed")
      ->check(CLI::IsMember({"spread", "packed"}))
      ->capture_default_str();
  app.add_flag("--oversubscribe", o.oversubscribe, "allow more ranks than cores");
  app.add_option("--significance", o.significance,
                 "setmatch ignores weights below this part of the heaviest")
      ->check(tools::between(0, 1))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of mpipp's random start")->capture_default_str();
  app.add_option("--aggregators-per-node", o.parameters.aggregators_per_node,
                 "as choir is told; 0: by cores")
      ->check(CLI::Range(0, most_cores));
  app.add_option("--cb-nodes", o.parameters.aggregators, "aggregators in all; 0: no limit")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()));
  app.add_option("--stripe-unit", o.parameters.stripe_unit, "bytes, to predict disk_first")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  app.add_option("--stripe-servers", o.parameters.stripe_servers, "data servers")
      ->check(CLI::Range(0, most_servers));

  app.add_option("--format", o.format, "of the placement")
      ->check(CLI::IsMember({"openmpi", "mpich", "slurm", "list"}))
      ->capture_default_str();
  app.add_option("-o,--output", o.output,
                 "file for the placement; - for standard output without the report");
  app.add_option("--json", o.json_path,
                 "file for the report as JSON; - for standard output instead of the table");
  app.add_option("--svg", o.svg_path, "file for the heat map of the matrix, byslot and placed");
  app.add_option("--benchmark", o.benchmark_ranks, "measure placement of this many ranks")
      ->check(CLI::Range(2, 100'000'000));
  app.add_flag("-q,--quiet", o.quiet, "no table");
}

/// Writes a whole file, or says why not. "-" is standard output.
void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text << std::flush;
    if (!std::cout) throw std::runtime_error("cannot write to standard output");
    return;
  }
  errno = 0;
  std::ofstream out(path, std::ios::trunc);
  out << text;
  out.close();
  if (!out)
    throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

template <class Place>
Row timed(const std::string& name, Place&& place) {
  const auto start = std::chrono::steady_clock::now();
  Row row;
  row.name = name;
  row.placement = place();
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return row;
}

bool has_load(const Placement& placement, const std::vector<int>& load) {
  std::vector<int> count(load.size());
  for (const int node : placement.node_of) ++count[static_cast<std::size_t>(node)];
  return count == load;
}

/// In rank order, but no more ranks on a node than its load: the thesis's restricted byslot.
Placement byslot_spread(const Problem& problem) {
  Parts parts;
  for (std::size_t node = 0; node < problem.load.size(); ++node)
    parts.insert(parts.end(), static_cast<std::size_t>(problem.load[node]), static_cast<int>(node));
  return with_cores(problem.machine, std::move(parts));
}

/// The baselines, every algorithm quick enough for this many ranks, and the one asked for.
std::vector<Row> place_all(const Problem& problem, const Options& o) {
  const int ranks = problem.ranks();
  const auto& machine = problem.machine;
  std::vector<Row> rows;
  rows.push_back(timed("byslot", [&] {
    return with_cores(machine, byslot(machine, ranks, o.oversubscribe), true);
  }));
  rows.push_back(timed("bynode", [&] {
    return with_cores(machine, bynode(machine, ranks, o.oversubscribe), true);
  }));
  if (!has_load(rows.front().placement, problem.load))
    rows.push_back(timed("byslot_spread", [&] { return byslot_spread(problem); }));
  for (const auto& algorithm : algorithms())
    if (algorithm.name == o.algorithm || ranks <= algorithm.most_ranks)
      rows.push_back(timed(algorithm.name, [&] { return algorithm.place(problem); }));
  return rows;
}

/// `auto`: of those that load the nodes as asked. At equal bytes, algorithms before baselines.
std::string choice(const std::vector<Row>& rows, const Problem& problem, const Options& o) {
  if (o.algorithm != "auto") return o.algorithm;
  std::vector<Choice> candidates, baselines;
  for (const auto& row : rows) {
    if (row.name == "mpipp" || !has_load(row.placement, problem.load)) continue;
    const bool baseline = row.name.rfind("by", 0) == 0;
    (baseline ? baselines : candidates).push_back({row.name, row.placement});
  }
  candidates.insert(candidates.end(), baselines.begin(), baselines.end());
  return choose(candidates, problem, o.strategy, {o.parameters}).name;
}

void check_choices(const Options& o, const Recording& recording) {
  if (o.algorithm != "auto" && o.algorithm != "byslot" && o.algorithm != "bynode")
    algorithm(o.algorithm);
  const auto known = predictable_strategies({o.parameters});
  if (std::find(known.begin(), known.end(), o.strategy) == known.end())
    throw std::invalid_argument(fmt::format(
        "strategy '{}' cannot be predicted; these can: {}{}", o.strategy, fmt::join(known, " "),
        o.parameters.stripe_servers < 1 ? " (disk_first with --stripe-servers)" : ""));
  if (recording.contacts().empty() && recording.patterns.empty())
    throw std::invalid_argument(
        "the recording is empty: no view was set and no collective call made");
  if (o.output == "-" && o.json_path == "-")
    throw std::invalid_argument("--output and --json cannot both go to standard output");
}

void place(const Options& o) {
  const auto access = load_access(o.access);
  const auto machine = load_machine(o.machine);
  check_choices(o, access.recording);
  const int ranks = access.recording.ranks;
  const auto graph = graph_of(access.recording.contacts(), ranks);
  const auto position = positions_of(access.recording);
  Problem problem{
      access.recording, graph, position, machine,
      loads(machine, ranks, o.fill == "spread" ? Fill::spread : Fill::packed, o.oversubscribe)};
  problem.significance = o.significance;
  problem.given_set = access.given_set;
  problem.seed = o.seed;
  Report report{problem, predictable_strategies({o.parameters}), place_all(problem, o), "", ""};
  report.chosen = choice(report.rows, problem, o);
  if (!access.recording.patterns.empty()) report.chosen_for = o.strategy;
  assess(report, {o.parameters});
  const auto& chosen = chosen_row(report);

  if (!o.json_path.empty()) write_text(o.json_path, json(report));
  if (!o.svg_path.empty()) {
    std::ostringstream svg;
    write_heatmap(svg, graph,
                  {{"byslot", report.rows.front().placement.node_of},
                   {chosen.name, chosen.placement.node_of}});
    write_text(o.svg_path, svg.str());
  }
  if (!o.output.empty()) {
    std::ostringstream text;
    write_placement(text, o.format, machine, chosen.placement);
    write_text(o.output, text.str());
  }
  if (!o.quiet && o.output != "-" && o.json_path != "-") write_text("-", table(report));
}

void run(const Options& o) {
  if (o.benchmark_ranks > 0) return benchmark(o.benchmark_ranks);
  if (o.merge_path.empty()) return place(o);
  if (!o.access.cart.empty())
    throw std::invalid_argument("--merge adds up recordings; --cart is none");
  write_file(o.merge_path, load_access(o.access).recording);
}

}  // namespace

}  // namespace choir::place

int main(int argc, char** argv) {
  choir::place::Options options;
  CLI::App app{"Where the ranks of a program should run, from what it does to its files",
               "choir place"};
  choir::tools::add_version(app);
  choir::place::add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    choir::place::run(options);
    return 0;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "choir place: out of memory\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "choir place: {}\n", error.what());
    return 2;
  }
}
