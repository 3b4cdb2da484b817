// choir-bench-choice: does `auto` choose well on whole files? What bench/choice runs.
//
// Every pattern and mode natively, by one fixed strategy of each kind, and by auto knowing nothing,
// in its second and in its fourth run. Resumable: what is measured is not measured again. Exit
// status 0 also where a target is missed; 1 if a launch failed, 2 for a mistake on the command
// line.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "common/numbers.hpp"
#include "common/output.hpp"
#include "common/paired.hpp"
#include "launching.hpp"
#include "store.hpp"

namespace choir::rounds {
namespace {

namespace fs = std::filesystem;

/// The MPI library past choir, and one strategy of each kind: exchange, own requests, mapping.
const std::vector<std::string> fixed_contenders{"host", "two_phase", "individual", "mapped"};
const std::vector<std::string> auto_contenders{"host", "auto"};

constexpr int kChainRuns = 10;
constexpr int kLateRun = 4;  // from here on a chain's runs count

struct Options {
  std::string root, results, directory;
  Scope scope;
  int rounds = 6;
  double minutes = 12;
  int chains = 0;
  std::string chain_pattern = "tiles-1k";
  bool measured = false, fresh = false, list = false;
};

volatile std::sig_atomic_t interrupted = 0;
extern "C" void on_signal(int) { interrupted = 1; }

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A folder of this run's own, with a word in it that says what it is.
class Folder {
 public:
  explicit Folder(const std::string& parent) : path_(parent + "/choir-choice-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("cannot make a folder in " + parent);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Benchmark {
 public:
  Benchmark(const Options& options, Store& store)
      : options_(options),
        store_(store),
        folder_(options.directory),
        place_{options.root, folder_.path()},
        begin_s_(now_s()) {}

  /// Counts the launches that failed.
  int run() {
    if (options_.chains > 0)
      run_chains();
    else
      run_rounds();
    if (stopped_) fmt::print("stopped; the same command goes on here\n");
    return failures_;
  }

 private:
  bool over() {
    stopped_ = interrupted != 0 || now_s() - begin_s_ > options_.minutes * 60;
    return stopped_;
  }

  void progress(const std::string& what, std::size_t done, std::size_t all) {
    constexpr std::size_t kWidth = 26;
    if (isatty(STDERR_FILENO) == 0) return;
    fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {}", "", kWidth * done / all, "",
               kWidth - kWidth * done / all, what);
    if (done == all) fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }

  void run_rounds() {
    for (int round = 1; round <= options_.rounds; ++round) {
      const auto launches = launches_of(options_.scope, round);
      for (std::size_t i = 0; i < launches.size();) {
        // The runs of a chain share a memory: they are measured together or not at all.
        auto end = i + 1;
        while (end < launches.size() && launches[end].run > 1) ++end;
        const std::vector<Launch> group(launches.begin() + static_cast<std::ptrdiff_t>(i),
                                        launches.begin() + static_cast<std::ptrdiff_t>(end));
        if (!store_.has(group.front().key())) {
          if (over()) return;
          progress(fmt::format("round {}: {}", round, group.front().key()), i, launches.size());
          measure(group);
        }
        i = end;
      }
      progress("", 1, 1);
      if (isatty(STDERR_FILENO) == 0)
        fmt::print(stderr, "round {} of {}: {:.1f} minutes\n", round, options_.rounds,
                   (now_s() - begin_s_) / 60);
    }
  }

  void measure(const std::vector<Launch>& group) {
    const auto memory = folder_.path() + "/memory";
    fs::remove_all(memory);
    std::vector<nlohmann::json> documents;
    try {
      for (const auto& launch : group)
        documents.push_back(carry_out(place_, launch,
                                      launch.is_fixed() ? fixed_contenders : auto_contenders,
                                      launch.is_fixed() ? "off" : memory));
    } catch (const std::exception& e) {
      if (interrupted == 0) fail(e.what());
      return;
    }
    store_.add(group, documents);
  }

  void fail(const std::string& text) {
    ++failures_;
    fmt::print(stderr, "choir-bench-choice: {}\n", text);
  }

  void run_chains() {
    const int all = options_.chains;
    for (const int ranks : options_.scope.ranks)
      for (int number = 1; number <= all; ++number)
        for (const auto& mpi : options_.scope.mpis) {
          Chain chain{mpi, ranks, number, {}};
          if (store_.has(Store::key_of(chain))) continue;
          if (over()) return;
          progress(Store::key_of(chain), static_cast<std::size_t>(number - 1),
                   static_cast<std::size_t>(all));
          try {
            const auto best = run_chain(chain);
            store_.add(chain, best);
          } catch (const std::exception& e) {
            if (interrupted == 0) fail(e.what());
          }
        }
    progress("", 1, 1);
  }

  /// Seconds of a launch's files by contender.
  static std::map<std::string, double> totals(const nlohmann::json& document) {
    std::map<std::string, double> seconds;
    for (const auto& file : document.at("runs").at(0).at("files"))
      seconds[file.at("contender")] += file.at("open_s").get<double>() +
                                       file.at("calls_s").get<double>() +
                                       file.at("close_s").get<double>();
    return seconds;
  }

  /// Ten runs with one memory, the first disturbed. Returns who is best of the others from the
  /// fourth run on; its times stand beside those of auto.
  std::string run_chain(Chain& chain) {
    const auto memory = folder_.path() + "/memory";
    fs::remove_all(memory);
    std::vector<double> ours;
    std::map<std::string, std::vector<double>> others;
    for (int run = 1; run <= kChainRuns; ++run) {
      Launch launch{chain.mpi, chain.ranks, options_.chain_pattern, run, "calls", run};
      std::optional<Disturbance> disturbance;
      if (run == 1) disturbance.emplace(folder_.path());
      const auto own = totals(carry_out(place_, launch, auto_contenders, memory));
      if (run < kLateRun) continue;
      ours.push_back(own.at("auto"));
      const auto fixed = totals(carry_out(place_, launch, fixed_contenders, "off"));
      for (const auto& [name, seconds] : fixed) others[name].push_back(seconds);
    }
    const auto best =
        std::min_element(others.begin(), others.end(), [](const auto& a, const auto& b) {
          return tools::median(a.second) < tools::median(b.second);
        });
    for (std::size_t i = 0; i < ours.size(); ++i) chain.late.emplace_back(ours[i], best->second[i]);
    return best->first;
  }

  const Options& options_;
  Store& store_;
  Folder folder_;
  Place place_;
  double begin_s_;
  int failures_ = 0;
  bool stopped_ = false;
};

std::vector<std::string> all_patterns() {
  std::vector<std::string> names;
  for (const auto& pattern : patterns()) names.push_back(pattern.name);
  return names;
}

void declare(CLI::App& app, Options& options) {
  options.scope = {{"mpich", "openmpi"}, all_patterns(), modes(), {2}};
  auto& scope = options.scope;
  app.add_option("--mpi", scope.mpis, "mpich, openmpi or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"mpich", "openmpi"}));
  app.add_option("--ranks", scope.ranks, "numbers of ranks (2)")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  app.add_option("--patterns", scope.patterns, "some of the patterns (see --list)")
      ->delimiter(',')
      ->check(CLI::IsMember(all_patterns()));
  app.add_option("--modes", scope.modes, "some of the modes (see --list)")
      ->delimiter(',')
      ->check(CLI::IsMember(modes()));
  app.add_option("--rounds", options.rounds, "rounds, at least 5 for the record (6)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--minutes", options.minutes, "begin nothing after this time")
      ->check(tools::above_zero())
      ->capture_default_str();
  app.add_option("--chains", options.chains,
                 "instead of rounds: so many chains of ten runs, the first disturbed")
      ->check(CLI::Range(1, 1000));
  app.add_option("--chain-pattern", options.chain_pattern, "what the chains write")
      ->check(CLI::IsMember(all_patterns()))
      ->capture_default_str();
  app.add_flag("--measured", options.measured,
               "choir has figures of this machine: the targets for that case hold");
  app.add_flag("--new", options.fresh, "forget what was measured before");
  app.add_flag("--list", options.list, "list patterns and modes");
  app.add_option("--dir", options.directory, "where the files are written (TMPDIR or /tmp)")
      ->check(CLI::ExistingDirectory);
  app.add_option("--results", options.results, "folder of the results");
  app.add_option("--root", options.root, "source tree with build/ and scripts/")
      ->check(CLI::ExistingDirectory);
}

void list() {
  fmt::print("patterns: {}\nmodes:    {}\n", fmt::join(all_patterns(), ", "),
             fmt::join(modes(), ", "));
}

void settle(Options& options) {
  if (options.root.empty())
    options.root = fs::read_symlink("/proc/self/exe").parent_path() / ".." / ".." / "..";
  options.root = fs::canonical(options.root).string();
  if (options.results.empty()) options.results = options.root + "/bench/results/choice";
  if (options.directory.empty()) {
    const char* temporary = std::getenv("TMPDIR");
    options.directory = temporary != nullptr ? temporary : "/tmp";
  }
  options.directory = fs::canonical(options.directory).string();
  std::erase_if(options.scope.mpis, [&](const std::string& mpi) {
    return !is_built({options.root, ""}, mpi);
  });
  if (options.scope.mpis.empty())
    throw std::runtime_error("choir bench is not built in " + options.root + "/build");
  if (options.fresh) fs::remove(options.results + "/launches.jsonl");
}

int run(const Options& options, const std::string& command) {
  Store store(options.results, this_machine());
  const int failures = Benchmark(options, store).run();
  const auto rows = rows_of(store.times());
  auto targets = targets_of(rows, options.measured);
  targets.push_back(target_of(store.chains()));
  store.write(rows, targets, command);
  for (const auto& target : targets) {
    constexpr const char* words[] = {"met", "MISSED", "-"};
    tools::print(fmt::format("{:<8}{}: {} (wanted: {})\n", words[static_cast<int>(target.outcome)],
                             target.what, target.reached, target.wanted));
  }
  tools::print(fmt::format("wrote {}/choice.md and choice.json\n", options.results));
  return failures > 0 ? 1 : 0;
}

/// As the user typed it: --root is the script's.
std::string command_line(int argc, char** argv) {
  std::string command = "bench/choice";
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--root")
      ++i;
    else
      command += std::string(" ") + argv[i];
  return command;
}

}  // namespace
}  // namespace choir::rounds

int main(int argc, char** argv) {
  using namespace choir::rounds;
  Options options;
  CLI::App app{"Does auto choose well on whole files? Native, fixed strategies and auto in turn",
               "bench/choice"};
  declare(app, options);
  const auto command = command_line(argc, argv);
  try {
    app.parse(argc, argv);
    if (options.list) return list(), 0;
    settle(options);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_signal);
    return run(options, command);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench/choice: {}\n", error.what());
    return 2;
  }
}
