// choir-bench: the workloads of the papers and of users' complaints, contenders in turn in one set
// of processes.
//
// A plain MPI program: it talks to choir as any program does, through the preloaded library and the
// `choir_strategy` hint. Started without that library it loads the one installed beside it, unless
// told --plain.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "choir_version.hpp"
#include "common/numbers.hpp"
#include "common/version.hpp"
#include "driver.hpp"
#include "estimates.hpp"
#include "leftovers.hpp"
#include "loading.hpp"
#include "machine.hpp"
#include "report.hpp"
#include "whole.hpp"
#include "workload.hpp"

namespace choir::bench {

namespace {

struct Options {
  std::vector<std::string> workloads;
  std::vector<std::string> parameters;  // name=value
  std::uint64_t bytes_per_rank = 32 << 20;
  std::uint64_t piece = 0;  // 0: the workload's own
  bool write = false;
  bool read = false;
  bool both = false;
  bool plain = false;
  bool list = false;
  bool no_verify = false;
  std::string json;
  std::string clock = "auto";
  std::string progress = "auto";
  DriverOptions driver;
  WholeOptions whole;
};

/// Who runs when --contenders does not say.
std::vector<std::string> default_contenders() {
  if (choir_library().empty()) return {"host", "floor"};
  return contender_names();
}

void declare_options(CLI::App& app, Options& options) {
  auto& driver = options.driver;
  const CLI::AsSizeValue size(false);
  app.add_option("workload", options.workloads, "workloads to run, or `all` (see --list)");
  app.add_flag("--list", options.list, "list workloads, their parameters and the contenders");
  app.add_option("-p,--set", options.parameters,
                 "parameter of the workload, NAME=VALUE (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--contenders", driver.contenders,
                 "names between commas (default: all that can run)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--repeat", driver.repeat, "timed repetitions (7)")->check(CLI::Range(1, 100000));
  app.add_option("--warmup", driver.warmup, "untimed steps of every contender (2)")
      ->check(CLI::Range(0, 100000));
  app.add_option("--bytes-per-rank", options.bytes_per_rank, "bytes per rank in a step, e.g. 32M")
      ->transform(size);
  app.add_option("--piece", options.piece,
                 "length of a piece, e.g. 64 or 4K (default: the workload's)")
      ->transform(size);
  auto* write = app.add_flag("--write", options.write, "measure writes");
  auto* read = app.add_flag("--read", options.read, "measure reads");
  app.add_flag("--both", options.both, "measure writes and reads (default)")
      ->excludes(write)
      ->excludes(read);
  app.add_flag("--sync", driver.step.sync, "a write step ends with MPI_File_sync");
  app.add_flag("--direct", driver.step.direct, "bypass the page cache where the contender can");
  app.add_flag("--drop-caches", driver.drop_caches,
               "empty the page cache before each repetition, as permitted");
  app.add_flag("--fresh", driver.fresh, "write a new file in each repetition");
  app.add_flag("--presize", driver.presize, "files to write have their size before the first step");
  app.add_option("--buffer-shift", driver.buffer_shift,
                 "bytes by which the program's buffer lies behind a page; malloc gives 16 (0)")
      ->check(CLI::Range(0, 4095));
  app.add_option("--dir", driver.directory, "directory for the files (default: the current one)");
  app.add_flag("--keep", driver.keep, "leave the files there");
  app.add_option("--json", options.json, "write all figures to this file");
  app.add_flag("--no-verify", options.no_verify, "do not check the bytes");
  app.add_flag("--verify", driver.verify, "check the bytes after every repetition (default)");
  app.add_option("--max-seconds", driver.max_seconds,
                 "stop repeating a contender after this long (20)")
      ->check(tools::above_zero());
  app.add_option("--clock", options.clock, "auto, common (one host) or elapsed (slowest rank)")
      ->check(CLI::IsMember({"auto", "common", "elapsed"}));
  app.add_option("--progress", options.progress, "auto, bar, lines or none")
      ->check(CLI::IsMember({"auto", "bar", "lines", "none"}));
  app.add_option("--seed", driver.seed, "seed of the data and of random patterns (1)");
  app.add_option("--whole", options.whole.modes,
                 "whole files, opened to closed, nothing warmed up: files, calls, rewritten, read")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(whole_modes()));
  app.add_option("--files", options.whole.files, "new files of mode `files` (4)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--steps", options.whole.steps, "steps of the other modes (20)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--turn", options.whole.turn, "who begins: the first contender for 0, ... (0)")
      ->check(CLI::Range(0, 1000000));
  app.add_flag("--plain", options.plain, "do not load choir's library: the host MPI alone");
}

void list_workloads() {
  for (const auto& workload : workloads()) {
    fmt::print("{:<12} {}\n", workload.name, workload.summary);
    if (workload.piece > 0) fmt::print("{:<14}--piece {}\n", "", workload.piece);
    for (const auto& parameter : workload.parameters)
      fmt::print("{:<14}-p {}={}  {}\n", "", parameter.name, parameter.value, parameter.help);
  }
  fmt::print("contenders: {}\n", fmt::join(contender_names(), ", "));
}

/// The workload's defaults with the user's values over them. Values for other workloads are refused
/// when one runs alone.
Scale scale_for(const Workload& workload, const Options& options, bool alone) {
  Scale scale;
  check(MPI_Comm_size(MPI_COMM_WORLD, &scale.ranks));
  check(MPI_Comm_rank(MPI_COMM_WORLD, &scale.rank));
  scale.bytes_per_rank = static_cast<std::int64_t>(options.bytes_per_rank);
  scale.piece = options.piece != 0 ? static_cast<std::int64_t>(options.piece) : workload.piece;
  scale.seed = options.driver.seed;
  for (const auto& parameter : workload.parameters) scale.values[parameter.name] = parameter.value;
  for (const auto& setting : options.parameters) {
    const auto equal = setting.find('=');
    if (equal == std::string::npos) throw Unsuitable("'" + setting + "' is not NAME=VALUE");
    const auto name = setting.substr(0, equal);
    if (scale.values.contains(name))
      scale.values[name] = setting.substr(equal + 1);
    else if (alone)
      throw Unsuitable("workload " + workload.name + " has no parameter '" + name +
                       "' (see --list)");
  }
  if (alone && options.piece != 0 && workload.piece == 0)
    throw Unsuitable("workload " + workload.name + " has no --piece");
  if (workload.piece > 0 && (scale.piece < 1 || scale.piece > (1 << 30)))
    throw Unsuitable("--piece must be between 1 byte and 1 GiB");
  return scale;
}

/// Numbers on the screen while it runs: a bar that redraws itself on a terminal, else a line per
/// finished quarter.
Progress progress_for(const Options& options, const std::string& workload) {
  auto mode = options.progress;
  if (mode == "auto") mode = output_reaches_terminal() ? "bar" : "lines";
  if (mode == "none") return nullptr;
  if (mode == "bar")
    return [workload](int done, int total, Operation operation, const std::string& contender) {
      constexpr int kWidth = 30;
      const int filled = kWidth * done / total;
      fmt::print(stderr, "\r\033[K{} {} [{:#<{}}{:.<{}}] {}/{} {}", workload, name_of(operation),
                 "", filled, "", kWidth - filled, done, total, contender);
      if (done == total) fmt::print(stderr, "\r\033[K");
      std::fflush(stderr);
    };
  return [workload](int done, int total, Operation operation, const std::string&) {
    if (done * 4 / total != (done - 1) * 4 / total)
      fmt::print(stderr, "{} {}: {} of {} steps\n", workload, name_of(operation), done, total);
  };
}

std::int64_t sum_over_ranks(std::int64_t value) {
  std::int64_t sum = 0;
  check(MPI_Allreduce(&value, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  return sum;
}

/// Sizes come from the largest rank: a count of MPI_BYTE is an int.
void require_countable(const Program& program) {
  std::int64_t largest = 0;
  for (const auto& call : program.calls) largest = std::max(largest, bytes_of(call.file));
  const auto too_large = sum_over_ranks(largest > 0x7fffffff ? 1 : 0);
  if (too_large > 0) throw Unsuitable("a call of more than 2 GiB per rank; lower --bytes-per-rank");
}

std::string mode_of(const DriverOptions& driver) {
  std::string mode;
  const auto add = [&](bool on, const std::string& name) {
    if (on) mode += (mode.empty() ? "" : ",") + name;
  };
  add(driver.step.sync, "sync");
  add(driver.step.direct, "direct");
  add(driver.drop_caches, "drop-caches");
  add(driver.fresh, "fresh");
  add(driver.presize, "presize");
  add(driver.buffer_shift > 0, "buffer-shift=" + std::to_string(driver.buffer_shift));
  return mode;
}

/// With --whole: the files of one workload, as JSON on rank 0. Counts what failed.
nlohmann::json run_whole_files(const Workload& workload, const Options& options, int& failures) {
  auto program = workload.build(scale_for(workload, options, true));
  require_countable(program);
  auto whole = options.whole;
  whole.contenders = options.driver.contenders;
  whole.sync = options.driver.step.sync;
  whole.verify = options.driver.verify;
  whole.clock = options.driver.clock;
  whole.directory = options.driver.directory;
  whole.seed = options.driver.seed;
  const auto bytes = sum_over_ranks(program.bytes());
  const auto times = run_whole(program, whole);
  for (const auto& time : times) failures += time.error.empty() ? 0 : 1;
  if (world_rank() == 0)
    fmt::print("{}: whole files, {} a step\n{}", workload.name, human_bytes(bytes),
               table_of(times));
  return {{"workload", workload.name}, {"total_bytes", bytes}, {"files", json_of(times)}};
}

WorkloadReport run_workload(const Workload& workload, const Options& options, bool alone) {
  WorkloadReport report;
  report.workload = workload.name;
  report.scale = scale_for(workload, options, alone);
  report.mode = mode_of(options.driver);
  const auto program = workload.build(report.scale);
  require_countable(program);
  report.total_bytes = sum_over_ranks(program.bytes());
  report.blocks = sum_over_ranks(program.blocks());
  report.calls = static_cast<std::int64_t>(program.calls.size());
  const auto progress = progress_for(options, workload.name);
  for (const auto operation : {Operation::write, Operation::read}) {
    const bool wanted = operation == Operation::write ? options.write : options.read;
    if (!wanted) continue;
    auto results = run_operation(operation, program, options.driver, progress);
    const auto estimated =
        estimates_of(options.driver.contenders, program,
                     {operation, options.driver.fresh, options.driver.directory});
    for (std::size_t i = 0; i < results.size(); ++i) results[i].estimated_seconds = estimated[i];
    report.results.insert(report.results.end(), results.begin(), results.end());
  }
  return report;
}

void settle(Options& options) {
  if (options.workloads.empty()) throw Unsuitable("which workload? (see --list)");
  if (!options.write && !options.read) options.write = options.read = true;
  if (options.no_verify) options.driver.verify = false;
  if (options.bytes_per_rank < 1 || options.bytes_per_rank > (std::uint64_t{1} << 31) - 1)
    throw Unsuitable("--bytes-per-rank must be between 1 byte and 2 GiB");
  if (options.driver.contenders.empty()) options.driver.contenders = default_contenders();
  require_known(options.driver.contenders);
  if (options.driver.step.direct && world_rank() == 0)
    fmt::print(stderr,
               "choir-bench: --direct: the floor uses O_DIRECT and MPI gets ROMIO's direct hints; "
               "choir's own strategies go through the page cache\n");
  const bool common = options.clock == "common" || (options.clock == "auto" && on_one_host());
  options.driver.clock = common ? Clock::common : Clock::elapsed;
  if (!std::filesystem::is_directory(options.driver.directory))
    throw Unsuitable("--dir " + options.driver.directory + " is not a directory");
}

void write_json(const Options& options, const nlohmann::json& runs, int argc, char** argv) {
  std::string command;
  for (int i = 0; i < argc; ++i)
    command += (i > 0 ? " " : "") + std::string(i > 0 ? argv[i] : "choir-bench");
  const nlohmann::json document{
      {"schema", "choir-bench/1"},
      {"choir", {{"version", CHOIR_VERSION}, {"preloaded", !choir_library().empty()}}},
      {"machine", describe_machine(options.driver.directory)},
      {"command", command},
      {"runs", runs}};
  std::ofstream out(options.json);
  out << document.dump(1) << '\n';
  out.close();
  if (!out) throw Unsuitable("cannot write " + options.json);
}

/// 0: all verified; 1: a contender failed.
int run_all(const Options& options, int argc, char** argv) {
  const bool everything = options.workloads == std::vector<std::string>{"all"};
  std::vector<std::string> names = options.workloads;
  if (everything) {
    names.clear();
    for (const auto& workload : workloads()) names.push_back(workload.name);
  }
  int failures = 0;
  nlohmann::json runs = nlohmann::json::array();
  for (const auto& name : names) {
    if (!options.whole.modes.empty()) {
      runs.push_back(run_whole_files(find_workload(name), options, failures));
      continue;
    }
    std::optional<WorkloadReport> report;
    try {
      report = run_workload(find_workload(name), options, names.size() == 1);
    } catch (const Unsuitable& e) {
      if (!everything) throw;
      if (world_rank() == 0) fmt::print("{}: skipped: {}\n", name, e.what());
      continue;
    }
    for (const auto& result : report->results) failures += result.error.empty() ? 0 : 1;
    if (world_rank() != 0) continue;
    fmt::print("{}", table_of(*report));
    std::fflush(stdout);
    runs.push_back(json_of(*report));
  }
  if (world_rank() == 0 && !options.json.empty()) write_json(options, runs, argc, argv);
  return failures > 0 ? 1 : 0;
}

/// Parses and runs; every rank comes to the same result. Rank 0 speaks.
int run(int argc, char** argv) {
  Options options;
  CLI::App app{"Contenders in turn on the I/O patterns of the papers and of users", "choir bench"};
  choir::tools::add_version(app);
  declare_options(app, options);
  try {
    app.parse(argc, argv);
    if (options.list) {
      if (world_rank() == 0) list_workloads();
      return 0;
    }
    settle(options);
    return run_all(options, argc, argv);
  } catch (const CLI::ParseError& e) {
    if (world_rank() == 0) return app.exit(e) == 0 ? 0 : 2;
    return e.get_exit_code() == 0 ? 0 : 2;
  } catch (const Unsuitable& e) {
    if (world_rank() == 0) fmt::print(stderr, "choir-bench: {}\n", e.what());
    return 2;
  }
}

/// `choir-bench compare A.json B.json` is the program choir-bench-compare beside this one.
int compare(char** argv) {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto tool = (here.parent_path() / "choir-bench-compare").string();
  std::string name = "choir-bench-compare";
  argv[1] = name.data();
  execv(tool.c_str(), argv + 1);
  fmt::print(stderr, "choir-bench: cannot run {}: {}\n", tool, std::strerror(errno));
  return 2;
}

}  // namespace

int main_program(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "compare") == 0) return compare(argv);
  load_choir(argc, argv);
  if (const int code = MPI_Init(&argc, &argv); code != MPI_SUCCESS) return 2;
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error, which can be told
  int status = 2;
  try {
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    status = run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "choir-bench: {}\n", e.what());
    remove_leftovers();
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  remove_leftovers();  // of a workload that was given up: a measured one has removed its own
  MPI_Finalize();
  return status;
}

}  // namespace choir::bench

int main(int argc, char** argv) { return choir::bench::main_program(argc, argv); }
