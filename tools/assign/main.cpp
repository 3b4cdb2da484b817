// choir-assign: studies which ranks should do the I/O of which files.
//
// choir assign MATRIX          each method's assignment, load and communication
// choir assign --gap N         optimality gap of the heuristics over N random instances
// choir assign --scale P,N     time of the heuristics on a sparse random instance
//
// Exit status: 0, 1 if a method gave no result, 2 for bad input or usage.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/numbers.hpp"
#include "common/output.hpp"
#include "common/version.hpp"
#include "input.hpp"
#include "report.hpp"
#include "studies.hpp"

namespace {

using namespace choir;
using namespace choir::assign;

struct Options {
  std::string matrix;
  std::vector<std::string> methods{"greedy", "matching", "exact", "auto"};
  std::optional<double> alpha, beta, intra_node_cost, slack;
  std::optional<std::string> balance;
  std::vector<int> nodes;
  int ranks_per_node = 0;
  std::string objective = "communication";
  double time_limit_s = 10;
  bool json = false;
  int gap = 0;
  std::uint64_t seed = 1;
  int max_ranks = 6;
  int max_files = 10;
  std::vector<int> scale;
  int requests_per_file = 16;
};

const CLI::Range from_one(1, std::numeric_limits<int>::max());
// A study with more takes longer than anybody waits.
const CLI::Range up_to_a_million(1, 1'000'000);
constexpr std::int64_t most_requests = 10'000'000;

void add_problem_options(CLI::App& app, Options& options) {
  app.add_option("--alpha", options.alpha, "cost of a byte of I/O (1)");
  app.add_option("--beta", options.beta, "cost of a byte moved between nodes (1)");
  auto* nodes =
      app.add_option("--nodes", options.nodes, "node of each rank: 0,0,1,1")->delimiter(',');
  app.add_option("--ranks-per-node", options.ranks_per_node, "consecutive ranks on each node")
      ->check(from_one)
      ->excludes(nodes);
  app.add_option("--intra-node-cost", options.intra_node_cost,
                 "cost of a byte moved inside a node, as a fraction of beta (1)");
  app.add_option("--balance", options.balance, "files or bytes: what ranks share evenly (files)");
  app.add_option("--slack", options.slack,
                 "with --balance bytes: how far above the average a rank may go (0)");
}

void add_options(CLI::App& app, Options& options) {
  auto* matrix =
      app.add_option("matrix", options.matrix, "CSV or JSON with r[rank][file]; - for stdin");
  auto* methods = app.add_option("--methods", options.methods, "of greedy, matching, exact, auto")
                      ->delimiter(',')
                      ->check(CLI::IsMember({"greedy", "matching", "exact", "auto"}));
  add_problem_options(app, options);
  app.add_option("--objective", options.objective, "what exact and auto minimise")
      ->check(CLI::IsMember({"communication", "response"}));
  app.add_option("--time-limit", options.time_limit_s, "seconds for one exact solution")
      ->check(tools::between(0.001, 1e6));
  app.add_flag("--json", options.json, "print JSON");
  auto* gap = app.add_option("--gap", options.gap, "optimality gap over this many instances")
                  ->check(up_to_a_million);
  app.add_option("--seed", options.seed, "of the random instances");
  app.add_option("--max-ranks", options.max_ranks, "of an instance of --gap")
      ->check(CLI::Range(2, 64));
  app.add_option("--max-files", options.max_files, "of an instance of --gap")
      ->check(CLI::Range(1, 64));
  auto* scale = app.add_option("--scale", options.scale, "time an instance of RANKS,FILES")
                    ->delimiter(',')
                    ->expected(2)
                    ->check(up_to_a_million);
  app.add_option("--requests-per-file", options.requests_per_file, "of the instance of --scale")
      ->check(from_one);
  for (auto* option : {matrix, methods}) option->excludes(gap)->excludes(scale);
  gap->excludes(scale);
}

/// The command line goes over what the file says.
void apply(const Options& options, multi::Problem& problem, int ranks) {
  problem.alpha = options.alpha.value_or(problem.alpha);
  problem.beta = options.beta.value_or(problem.beta);
  problem.intra_node_cost = options.intra_node_cost.value_or(problem.intra_node_cost);
  problem.slack = options.slack.value_or(problem.slack);
  if (options.balance) problem.balance = parse_balance(*options.balance);
  if (!options.nodes.empty()) problem.node_of_rank = options.nodes;
  if (options.ranks_per_node > 0) {
    problem.node_of_rank.clear();
    for (int rank = 0; rank < ranks; ++rank)
      problem.node_of_rank.push_back(rank / options.ranks_per_node);
  }
}

std::vector<multi::Method> methods_named(const std::vector<std::string>& names) {
  std::vector<multi::Method> methods;
  methods.reserve(names.size());
  for (const auto& name : names)
    methods.push_back(
        std::ranges::find(multi::method_names, name, &multi::MethodName::name)->method);
  return methods;
}

int print(const std::string& text) {
  tools::print(text);
  return 0;
}

int run_gap(const Options& options) {
  if (!options.nodes.empty() || options.ranks_per_node > 0)
    throw InputError("--gap draws instances of many sizes and takes no nodes");
  GapOptions gap;
  gap.instances = options.gap;
  gap.seed = options.seed;
  gap.max_ranks = options.max_ranks;
  gap.max_files = options.max_files;
  gap.time_limit_s = options.time_limit_s;
  apply(options, gap.settings, 0);
  const auto study = study_gap(gap);
  return print(options.json ? to_json(study) : to_table(study));
}

int run_scale(const Options& options) {
  if (std::int64_t{options.scale[1]} * options.requests_per_file > most_requests)
    throw InputError(
        fmt::format("--scale: files times --requests-per-file may be {} at most", most_requests));
  ScaleOptions scale;
  scale.ranks = options.scale[0];
  scale.files = options.scale[1];
  scale.requests_per_file = options.requests_per_file;
  scale.seed = options.seed;
  apply(options, scale.settings, scale.ranks);
  const auto study = study_scale(scale);
  return print(options.json ? to_json(study) : to_table(study));
}

int run_matrix(const Options& options) {
  auto problem = read_problem(options.matrix);
  apply(options, problem, problem.requests.ranks());
  multi::validate(problem);
  const auto objective = options.objective == "response" ? multi::Objective::response
                                                         : multi::Objective::communication;
  const auto reports =
      run_methods(problem, methods_named(options.methods), {objective, options.time_limit_s});
  print(options.json ? to_json(problem, reports) : to_table(problem, reports));
  return std::ranges::all_of(reports, [](const auto& r) { return r.error.empty(); }) ? 0 : 1;
}

int run(const Options& options) {
  if (options.gap > 0) return run_gap(options);
  if (!options.scale.empty()) return run_scale(options);
  if (!options.matrix.empty()) return run_matrix(options);
  throw InputError("want a matrix, --gap or --scale; see --help");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Studies which ranks should do the I/O of which files.", "choir assign"};
  choir::tools::add_version(app);
  Options options;
  try {
    add_options(app, options);
    app.parse(argc, argv);
    return run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "choir assign: {}\n", error.what());
    return 2;
  }
}
