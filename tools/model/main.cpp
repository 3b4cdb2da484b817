// choir-model: what the strategies would do on a machine that is not there.
//
// choir model --workload tile --ranks 65536 --nodes 1024 --strategy all
// choir model --figure orthrus5
//
// Exit status: 0, 1 if something could not be read or written, 2 for bad input or usage.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <stdexcept>

#include "common/numbers.hpp"
#include "common/output.hpp"
#include "common/version.hpp"
#include "figures.hpp"
#include "measured.hpp"
#include "report.hpp"

namespace {

using namespace choir;
using namespace choir::model;

struct Options {
  Scenario scenario;
  std::vector<std::string> strategies{"all"};
  std::string machine, netbench, iobench, plot, figure;
  double seek_ms = -1;
  bool read = false, known = false, json = false;
};

/// A size such as 64K or 4M, powers of two.
CLI::Option* size(CLI::App& app, const std::string& name, std::int64_t& target,
                  const std::string& help) {
  return app.add_option(name, target, help)
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
}

void add_workload(CLI::App& app, WorkloadParameters& w) {
  std::string names;
  for (const auto& name : Workload::names()) names += (names.empty() ? "" : ", ") + name;
  app.add_option("--workload", w.name, names)->capture_default_str()->group("Workload");
  size(app, "--bytes-per-rank", w.bytes_per_rank, "of one pass")->group("Workload");
  size(app, "--piece", w.piece, "bytes of a piece; 0: as choir bench")->group("Workload");
  app.add_option("--depth", w.depth, "matrix: rows in a call")
      ->capture_default_str()
      ->group("Workload");
  app.add_option("--width", w.width, "tile: elements across")->group("Workload");
  app.add_option("--height", w.height, "tile: elements down")->group("Workload");
  app.add_option("--holes", w.holes, "irregular: percent that belongs to nobody")
      ->capture_default_str()
      ->group("Workload");
  app.add_option("--seed", w.seed, "irregular: of the random pieces")
      ->capture_default_str()
      ->group("Workload");
  app.add_option("--configuration", w.configuration, "flash: A, B or scaled")
      ->capture_default_str()
      ->group("Workload");
}

void add_machine(CLI::App& app, Options& options) {
  auto& m = options.scenario.machine;
  const auto real = [&](const char* name, double& target, const char* help,
                        const CLI::Validator& accepted) {
    app.add_option(name, target, help)->check(accepted)->capture_default_str()->group("Machine");
  };
  const auto positive = tools::above_zero(), not_negative = tools::from_zero();
  app.add_option("--ranks", m.ranks, "up to millions")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000'000))
      ->group("Machine");
  app.add_option("--nodes", m.nodes, "ranks are dealt out in blocks")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000'000))
      ->group("Machine");
  app.add_option("--cores", m.cores, "of a node")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000))
      ->group("Machine");
  real("--link-bandwidth", m.between.bandwidth, "bytes/s of a node's link, each way", positive);
  real("--link-latency", m.between.latency_s, "seconds", not_negative);
  real("--inside-bandwidth", m.inside.bandwidth, "bytes/s of one core copying", positive);
  real("--inside-latency", m.inside.latency_s, "seconds", not_negative);
  real("--message-cost", m.message_s, "processor seconds of a message at either end", not_negative);
  real("--wait", m.wait_s, "seconds until a waiting rank gets a busy core", not_negative);
  size(app, "--eager-bytes", m.eager_bytes,
       "longest message that arrives while its receiver writes")
      ->group("Machine");
  app.add_flag("--shared-cores", m.shared_cores, "all nodes share the cores of one computer")
      ->group("Machine");
  app.add_option("--servers", m.servers.count, "data servers")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000))
      ->group("Machine");
  size(app, "--stripe", m.servers.unit, "bytes of a stripe")->group("Machine");
  real("--server-bandwidth", m.servers.bandwidth, "bytes/s of one server", positive);
  app.add_option("--seek", options.seek_ms, "milliseconds (5)")
      ->check(not_negative)
      ->group("Machine");
  real("--request-cost", m.servers.request_s, "seconds of a request besides", not_negative);
  size(app, "--largest-request", m.servers.largest_request, "clients cut longer ones; 0: never")
      ->group("Machine");
  real("--client-bandwidth", m.servers.client_bandwidth,
       "bytes/s of a client's way to the servers; 0: no limit", not_negative);
  app.add_flag("--in-turn", m.servers.in_turn,
               "a client sends the parts of a request one after the other")
      ->group("Machine");
  app.add_option("--machine", options.machine, "a node as measured by choir measure")
      ->group("Machine");
  app.add_option("--netbench", options.netbench, "links as measured by choir netbench")
      ->group("Machine");
  app.add_option("--iobench", options.iobench, "servers as measured by choir iobench")
      ->group("Machine");
}

void add_settings(CLI::App& app, Options& options) {
  auto& p = options.scenario.parameters;
  app.add_option("--strategy", options.strategies, "all, or names with commas")
      ->delimiter(',')
      ->group("Strategy");
  size(app, "--cycle-buffer", p.cycle_bytes, "bytes of a cycle buffer")->group("Strategy");
  app.add_flag("--scaling", p.scaling, "cycle buffers grow with the ranks they serve")
      ->group("Strategy");
  size(app, "--cycle-buffer-max", p.most_cycle_bytes, "with --scaling")->group("Strategy");
  const auto whole = [&](const char* name, int& target, int least, const char* help) {
    app.add_option(name, target, help)->check(CLI::Range(least, 100'000'000))->group("Strategy");
  };
  whole("--aggregators-per-node", p.aggregators_per_node, 0, "0: by cores");
  whole("--aggregators", p.aggregators, 0, "in all (cb_nodes); 0: no limit");
  whole("--aggregators-per-server", p.aggregators_per_server, 1, "disk_first");
  whole("--group-size", p.group_size, 0, "segmentation; 0: as a node");
  whole("--writers-per-group", p.writers_per_group, 0, "segmentation");
  whole("--concurrent", p.concurrent, 1, "scheduled_individual");
  app.add_flag("--read", options.read, "a read; otherwise a write")->group("Strategy");
  app.add_flag("--asynchronous", options.scenario.asynchronous,
               "storage works while its aggregator receives (threaded, io_uring)")
      ->group("Strategy");
  app.add_flag("--known", options.known,
               "the pattern was seen before, so no summaries are gathered")
      ->group("Strategy");
}

std::vector<Strategy> strategies_named(const std::vector<std::string>& names) {
  const StrategyTable table;
  if (names.size() == 1 && names[0] == "all") return table.rows();
  std::vector<Strategy> chosen;
  for (const auto& name : names) {
    const auto found = table.find(name);
    if (!found) {
      std::string reason = "there is no strategy '" + name + "'; known:";
      for (const auto& row : table.rows()) reason.append(" ").append(row.name);
      throw std::invalid_argument(reason);
    }
    chosen.push_back(table.rows()[static_cast<std::size_t>(*found)]);
  }
  return chosen;
}

void run_figure(const Options& options) {
  const auto figures = compute_figure(options.figure);
  std::string text = options.json ? json_of(figures) : "";
  if (!options.json)
    for (const auto& figure : figures) text += (text.empty() ? "" : "\n") + text_of(figure);
  tools::print(text);
  if (options.plot.empty()) return;
  const auto& shown = figures.back();
  auto series = shown.series;
  series.insert(series.end(), shown.printed.begin(), shown.printed.end());
  write_file(options.plot, lines(shown.title, shown.unit, shown.labels, series));
}

void run_scenario(Options& options) {
  auto& machine = options.scenario.machine;
  if (!options.machine.empty()) use_machine_file(machine, options.machine);
  if (!options.netbench.empty()) use_netbench(machine, options.netbench);
  if (!options.iobench.empty()) use_iobench(machine, options.iobench);
  auto& cycle_bytes = options.scenario.parameters.cycle_bytes;
  if (cycle_bytes == 0)
    cycle_bytes = default_cycle_bytes(machine.nodes, machine.ranks, machine.cores);
  if (options.seek_ms >= 0) machine.servers.seek_s = options.seek_ms * 1e-3;
  options.scenario.writing = !options.read;
  options.scenario.first_call = !options.known;
  const auto strategies = strategies_named(options.strategies);
  const Model model(options.scenario);
  std::vector<Prediction> predictions;
  for (const auto& strategy : strategies) {
    auto prediction = model.predict_all(strategy);
    if (prediction)
      predictions.push_back(std::move(*prediction));
    else if (strategies.size() == 1)
      throw std::invalid_argument(strategy.name + " does not apply to this machine");
  }
  tools::print(options.json ? json_of(model, predictions) : table_of(model, predictions));
  if (!options.plot.empty())
    write_file(
        options.plot,
        bars(fmt::format("{} of {}, {} ranks on {} nodes", options.read ? "read" : "write",
                         options.scenario.workload.name, machine.ranks, model.topology().nodes()),
             predictions));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.scenario.parameters.cycle_bytes = 0;  // as the runtime would have it
  options.scenario.parameters.most_cycle_bytes = 16 << 20;
  CLI::App app{"Predicts strategies on an imaginary machine", "choir model"};
  choir::tools::add_version(app);
  add_workload(app, options.scenario.workload);
  add_machine(app, options);
  add_settings(app, options);
  app.add_option("--figure", options.figure, "a paper's experiment on its cluster")
      ->check(CLI::IsMember(figure_names()));
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--plot", options.plot, "also write a chart to this SVG file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    if (options.figure.empty())
      run_scenario(options);
    else
      run_figure(options);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "choir model: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "choir model: {}\n", error.what());
    return 1;
  }
  return 0;
}
