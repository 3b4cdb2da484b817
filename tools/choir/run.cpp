// run.cpp: finds out which MPI a program uses, puts choir's library of that MPI in front, and
// executes it.
//
// No MPI here: choir runs once per rank, before MPI_Init, under any launcher.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "commands.hpp"
#include "common/in_force.hpp"
#include "common/version.hpp"
#include "family.hpp"
#include "launcher.hpp"

namespace choir::command {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string strategy, trace, config, mpi, clock;
  bool stats = false, verbose = false, native = false;
  Arguments own;      // as they were given
  Arguments program;  // with its arguments
};

void say(const std::string& text) {
  if (launcher_rank() == 0) fmt::print(stderr, "choir: {}\n", text);
}

void set(const char* variable, const std::string& value) {
  if (setenv(variable, value.c_str(), 1) != 0)
    throw UsageError(fmt::format("cannot set {}: {}", variable, std::strerror(errno)));
}

std::string built_for(const std::vector<Tree>& trees) {
  std::string text;
  for (const auto& tree : trees)
    text += fmt::format("{}{} ({})", text.empty() ? "" : " and ", tree.mpi, tree.mpi_library);
  return text;
}

std::string named(const MpiLibrary& library) {
  return fmt::format("{} ({})", library.called, library.name);
}

[[noreturn]] void refuse_library(const std::string& what, const MpiLibrary& library,
                                 const std::vector<Tree>& trees) {
  const char* advice =
      library.mpi == "mpi-abi" ? ". Link the program with the mpicc of one of these" : "";
  throw UsageError(fmt::format("{} uses {}, but this choir is built for {}{}", what, named(library),
                               built_for(trees), advice));
}

/// The trees, and their twins.
std::vector<Tree> trees_for(const std::vector<Tree>& trees,
                            const std::vector<MpiLibrary>& libraries) {
  std::vector<Tree> fitting;
  const auto consider = [&](const Tree& tree) {
    for (const auto& library : libraries)
      if (fits(tree, library)) return fitting.push_back(tree);
  };
  for (const auto& tree : trees) {
    consider(tree);
    if (const auto twin = twin_of(tree)) consider(*twin);
  }
  return fitting;
}

/// The tree whose MPI library the program itself loads; nothing if it loads none at all.
std::optional<Tree> tree_by_libraries(const std::vector<Tree>& trees, const std::string& what,
                                      const Libraries& libraries) {
  const auto used = mpi_libraries_in(libraries);
  if (used.empty()) return std::nullopt;
  const auto fitting = trees_for(trees, used);
  if (fitting.empty()) refuse_library(what, used.front(), trees);
  const auto launcher = launcher_mpi();
  for (const auto& tree : fitting)
    if (launcher && tree.mpi == *launcher) return tree;
  return fitting.front();
}

const Tree& tree_by_name(const std::vector<Tree>& trees, const std::string& mpi,
                         const std::string& because) {
  if (const Tree* tree = tree_of(trees, mpi)) return *tree;
  throw UsageError(fmt::format("{}, but this choir is built for {}", because, built_for(trees)));
}

/// --mpi decides only where the program's own libraries leave a choice.
Tree tree_asked_for(const std::vector<Tree>& trees, const Program& program,
                    const std::string& mpi) {
  const auto used = mpi_libraries_in(program.libraries);
  const auto because = "--mpi " + mpi + " is asked for";
  const auto& asked = tree_by_name(trees, mpi, because);
  if (used.empty()) return asked;
  const auto fitting = trees_for({asked}, used);
  if (!fitting.empty()) return fitting.front();
  throw UsageError(fmt::format("{}, but {} uses {}", because, program.path, named(used.front())));
}

/// One process has room for one MPI. Programs get a second one from a library built for another.
void tell_of_two_mpis(const Tree& tree, const Program& program) {
  const auto used = mpi_libraries_in(program.libraries);
  const auto other = std::find_if(used.begin(), used.end(), [&](const MpiLibrary& one) {
    return one.mpi != tree.mpi && one.name != tree.mpi_library;
  });
  if (other == used.end() || std::getenv("CHOIR_QUIET") != nullptr) return;
  std::string names;
  for (const auto& one : used) names += (names.empty() ? "" : " and ") + named(one);
  say(
      fmt::format("warning: {} loads two MPI libraries, {}; only one can work. choir serves {}. "
                  "ldd shows which library brings the other",
                  program.path, names, tree.mpi_library));
}

/// For interpreters and wrappers, which load their MPI later: the launcher knows, or mpi4py does.
Tree tree_by_surroundings(const std::vector<Tree>& trees, const Program& program) {
  if (const auto launcher = launcher_mpi())
    return tree_by_name(trees, *launcher, fmt::format("the launcher belongs to {}", *launcher));
  if (const auto module = mpi4py_of(program.binary); !module.empty())
    if (const auto elf = read_elf(module))
      if (const auto tree = tree_by_libraries(trees, module, libraries_of(module, *elf)))
        return *tree;
  if (trees.size() == 1) return trees.front();
  throw UsageError(fmt::format(
      "cannot tell which MPI {} will use, since no launcher started it; name it with --mpi "
      "({})",
      program.path, built_for(trees)));
}

Tree choose_tree(const std::vector<Tree>& trees, const Program& program, const Options& options) {
  if (!options.mpi.empty()) return tree_asked_for(trees, program, options.mpi);
  if (const auto tree = tree_by_libraries(trees, program.path, program.libraries)) return *tree;
  if (program.starts_others) return tree_by_surroundings(trees, program);
  throw UsageError(fmt::format(
      "{} uses no MPI: none of its {} libraries is one (if it loads its MPI later, say which "
      "with --mpi)",
      program.path, program.libraries.size()));
}

/// A program of one MPI started by the other's launcher runs as many jobs of one rank: worth a
/// word.
void check_launcher(const Tree& tree, const Program& program) {
  const auto launcher = launcher_mpi();
  if (launcher && *launcher != tree.mpi && std::getenv("CHOIR_QUIET") == nullptr)
    say(fmt::format(
        "warning: {} uses {}, but the launcher belongs to {}; every rank will believe it is alone",
        program.path, tree.mpi, *launcher));
}

void check_strategy(const std::string& name) {
  std::vector<std::string> warnings;
  auto settings = tools::settings_in_force(warnings);
  const auto table = tools::strategies_in_force(settings, warnings);
  if (name == "auto" || table.find(name)) return;
  std::string names = "auto";
  for (const auto& row : table.rows()) names += ", " + row.name;
  throw UsageError(fmt::format("there is no strategy '{}'; there are {}", name, names));
}

/// Options become the settings of the same name; paths stay right if the program changes its
/// folder.
void apply(const Options& options) {
  if (!options.config.empty()) {
    if (access(options.config.c_str(), R_OK) != 0)
      throw UsageError(fmt::format("cannot read {}: {}", options.config, std::strerror(errno)));
    set("CHOIR_CONFIG", fs::absolute(options.config).string());
  }
  if (!options.strategy.empty()) {
    check_strategy(options.strategy);
    set("CHOIR_STRATEGY", options.strategy);
  }
  if (options.stats) set("CHOIR_STATS", "1");
  if (!options.trace.empty()) set("CHOIR_TRACE", fs::absolute(options.trace).string());
}

/// The options end at the program's name: what follows is the program's own.
std::optional<Options> parse(const Arguments& arguments) {
  Options options;
  CLI::App app{"Runs an MPI program with choir in front of its MPI-IO", "choir run"};
  app.footer(
      "choir run [OPTIONS] PROGRAM [ARGUMENTS...]: what follows PROGRAM is the program's own.");
  app.add_option("--strategy", options.strategy, "auto or a strategy's name (see choir info)");
  app.add_flag("--stats", options.stats, "a table on standard error when a file is closed");
  app.add_option("--trace", options.trace,
                 "record every call in this folder, for choir explain and report");
  app.add_option("--config", options.config, "settings to use instead of ./choir.toml");
  app.add_option("--mpi", options.mpi,
                 "mpich or openmpi, where it cannot be seen from the program");
  app.add_flag("--native", options.native, "without choir, for comparison");
  app.add_option("--clock", options.clock,
                 "write what each file's MPI-IO calls took into this folder (choir compare)");
  app.add_flag("-v,--verbose", options.verbose,
               "say which library is put in front of which program");
  const Arguments with_value{"--strategy", "--trace", "--config", "--mpi", "--clock"};
  auto end = arguments.begin();
  for (; end != arguments.end() && end->size() > 1 && end->front() == '-' && *end != "--"; ++end)
    if (std::find(with_value.begin(), with_value.end(), *end) != with_value.end() &&
        end + 1 != arguments.end())
      ++end;
  const Arguments own(arguments.begin(), end);
  if (end != arguments.end() && *end == "--") ++end;
  options.own = own;
  options.program.assign(end, arguments.end());
  if (!parse_options(app, own)) return std::nullopt;
  if (options.program.empty()) throw UsageError("choir run needs a program; see choir run --help");
  return options;
}

}  // namespace

void preload(const fs::path& library) {
  const auto path = library.string();
  if (path.find_first_of(": ") != std::string::npos)
    throw UsageError(path +
                     ": the loader cannot preload from a folder with a blank or colon in its name");
  const char* before = std::getenv("LD_PRELOAD");
  const std::string others = before != nullptr ? before : "";
  if (others.find(path) != std::string::npos) return;
  // Behind the others: a profiler that wraps MPI_File_* sees the program's calls, and its own calls
  // reach choir.
  set("LD_PRELOAD", others.empty() ? path : others + ":" + path);
}

void execute(const std::string& path, const std::string& shown_name, const Arguments& arguments) {
  std::vector<char*> raw{const_cast<char*>(shown_name.c_str())};
  for (const auto& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  execv(path.c_str(), raw.data());
  throw UsageError(fmt::format("cannot run {}: {}", path, std::strerror(errno)));
}

bool parse_options(CLI::App& app, const Arguments& arguments) {
  tools::add_version(app);
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return false;
  } catch (const CLI::ParseError& e) {
    throw UsageError(fmt::format("{}; see {} --help", e.what(), app.get_name()));
  }
  return true;
}

int run(const Arguments& arguments) {
  const auto given = parse(arguments);
  if (!given) return 0;
  const auto& options = *given;
  refuse_launcher(options.program, options.own);
  const auto program = examine_program(options.program.front());
  const auto trees = find_trees();
  if (trees.empty())
    throw UsageError(
        fmt::format("no libchoir_mpiio.so is built or installed near {}", own_folder().string()));
  const auto tree = choose_tree(trees, program, options);
  check_launcher(tree, program);
  tell_of_two_mpis(tree, program);
  apply(options);
  if (!options.clock.empty()) {
    set("CHOIR_CLOCK", fs::absolute(options.clock).string());
    preload(tree.library.parent_path() / "libchoir_clock.so");
  }
  if (!options.native) preload(tree.library);
  if (options.verbose)
    say(fmt::format("{} uses {} ({}); preloading {}", program.path, tree.mpi, tree.mpi_library,
                    options.native ? "nothing of choir" : tree.library.string()));
  execute(program.path, options.program.front(),
          {options.program.begin() + 1, options.program.end()});
}

}  // namespace choir::command
