// choir compare: is this program faster under choir, and does it write the same bytes?
//
// Exit status: 0 done; 1 the bytes differ or a run failed; 2 a mistake on the command line.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "common/numbers.hpp"
#include "common/output.hpp"
#include "common/version.hpp"
#include "runs.hpp"

namespace {

using namespace choir::compare;

void show_progress(std::size_t done, std::size_t most, const std::string& next) {
  constexpr std::size_t kWidth = 26;
  if (isatty(STDERR_FILENO) == 0) return;
  if (next.empty()) {
    fmt::print(stderr, "\r\033[K");
  } else {
    const auto filled = kWidth * done / most;
    fmt::print(stderr, "\r\033[K  [{:#<{}}{:.<{}}] {} pairs, at most {}: {}", "", filled, "",
               kWidth - filled, done, most, next);
  }
  std::fflush(stderr);
}

/// Ctrl-C reaches the program too; when it has ended, everything is put back.
extern "C" void on_signal(int) { interrupt(); }

std::string head(const Options& options) {
  return fmt::format(
      "choir compare: seconds in MPI-IO calls from open to close, slowest rank, new files; "
      "medians\n"
      "  natively:    {}\n  under choir: {}\n\n",
      typed(native_command(options, "FOLDER")), typed(choir_command(options, "FOLDER")));
}

std::string foot(const Findings& findings) {
  auto text = fmt::format("\n  {} pairs of runs, alternating", findings.all.pairs.size());
  if (findings.others_share >= 0)
    text += fmt::format("; other programs used {:.0f} % of the processors",
                        findings.others_share * 100);
  return text + fmt::format("\n  before them, not counted: first run natively {}, under choir {}\n",
                            seconds_text(findings.first.native_s),
                            seconds_text(findings.first.choir_s));
}

int run(const Options& options, const std::string& table) {
  choir::tools::print(head(options));
  const auto findings = compare(options, show_progress);
  choir::tools::print(table_of(findings) + foot(findings) + "\n" + sentence_of(findings) + "\n");
  if (!table.empty()) {
    const auto lines = lines_of(findings);
    std::FILE* out = std::fopen(table.c_str(), "w");
    bool good = out != nullptr && std::fwrite(lines.data(), 1, lines.size(), out) == lines.size();
    if (out != nullptr) good = std::fclose(out) == 0 && good;
    if (!good) throw Trouble("cannot write " + table);
  }
  if (findings.all.bytes != Bytes::differ) return 0;
  choir::tools::print(
      "The bytes differ: do not use choir for this program, and tell its authors.\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string table;
  CLI::App app{"Runs an MPI program natively and under choir in turn, and compares times and bytes",
               "choir compare"};
  choir::tools::add_version(app);
  app.footer(
      "choir compare [OPTIONS] -- mpiexec -n 4 ./app ARGUMENTS\n"
      "The programs run in this folder. {} in an argument becomes a folder of each run's own.\n"
      "Where the program's place behind the launcher cannot be seen, write `choir run` there.");
  app.add_option("--pairs", options.pairs,
                 "exactly so many pairs of runs (default: until the answer is clear, 8 to 26)")
      ->check(CLI::Range(1, 10000));
  app.add_option("--minutes", options.minutes, "begin no pair after this time")
      ->check(choir::tools::above_zero())
      ->capture_default_str();
  app.add_option("--files", options.files,
                 "pattern of files that the program finds or writes without MPI-IO (repeatable): "
                 "each run begins with copies, and they are compared too")
      ->allow_extra_args(false);
  app.add_option("--table", table, "write the figures to this file, for scripts");
  app.add_flag("--keep", options.keep, "leave the folder of the runs");
  app.add_option("command", options.command, "the command, behind --")->required();
  try {
    app.parse(argc, argv);
    options.choir = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "choir";
    native_command(options, "");  // refuses a command without a program
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "choir compare: {}\n", error.what());
    return 2;
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_signal);
  try {
    return run(options, table);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}choir compare: {}\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
               error.what());
    return 1;
  }
}
