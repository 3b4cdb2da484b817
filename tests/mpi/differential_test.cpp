// differential_test.cpp: random collective I/O compared with a model in memory.
//
// A plain MPI program. It runs alone (then the host's MPI-IO is under test) or below a preloaded
// library.
//
//   differential_test --cases N --seed S [--first K] --dir DIR --strategies a,b,c
//                     [--nonblocking] [--plain-hints] [--verbose]
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "support/harness.hpp"

namespace choir::test {
namespace {

[[noreturn]] void usage(const std::string& why) {
  fmt::print(stderr, "differential_test: {}\n", why);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::_Exit(2);
}

template <class T>
T number(std::string_view option, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    usage(fmt::format("{} needs a number, not '{}'", option, text));
  return value;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    words.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return words;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 >= argc) usage(fmt::format("{} needs a value", word));
      return argv[++i];
    };
    if (word == "--cases")
      options.cases = number<int>(word, value());
    else if (word == "--first")
      options.first = number<int>(word, value());
    else if (word == "--seed")
      options.seed = number<std::uint64_t>(word, value());
    else if (word == "--dir")
      options.directory = value();
    else if (word == "--strategies")
      options.strategies = split(value());
    else if (word == "--nonblocking")
      options.nonblocking = true;
    else if (word == "--plain-hints")
      options.plain_hints = true;
    else if (word == "--verbose")
      options.verbose = true;
    else
      usage(fmt::format("unknown option '{}'", word));
  }
  if (options.strategies.empty()) usage("--strategies names none");
  return options;
}

/// A directory of this run alone, so that runs side by side never meet.
std::string own_directory(const std::string& below) {
  char path[4096] = {};
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::snprintf(path, sizeof path, "%s/differential-XXXXXX", below.c_str());
    if (!mkdtemp(path)) usage(fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  }
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  return path;
}

bool run_case(const Options& options, int index) {
  Case c(options, index);
  if (options.nonblocking)
    run_nonblocking_case(c);
  else
    run_blocking_case(c);
  int failed = c.failed;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return !failed;
}

int run(int argc, char** argv) {
  Options options = parse(argc, argv);
  options.directory = own_directory(options.directory);
  bool good = true;
  int done = 0;
  for (; good && done < options.cases; ++done) good = run_case(options, options.first + done);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    if (good) ::rmdir(options.directory.c_str());
    fmt::print("{}: {} cases from seed {}{}\n", good ? "ok" : "FAILED", done, options.seed,
               good ? "" : ", files kept in " + options.directory);
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  // Under Open MPI the host's own writes were seen, rarely, to lose bytes of neighbouring ranks.
  // Its read-modify-write is the suspect, not the proven cause; what the host carries out here goes
  // without it.
  ::setenv("OMPI_MCA_fbtl_posix_write_datasieving", "0", 0);
  MPI_Init(&argc, &argv);
  const int code = choir::test::run(argc, argv);
  MPI_Finalize();
  return code;
}
