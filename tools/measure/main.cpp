// choir-measure: what moving bytes costs on this kind of node and on one mount, for the estimates
// of strategies.
//
//   choir measure /scratch
//
// Exit status: 0, 1 if something could not be measured or written, 2 for bad usage.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "common/numbers.hpp"
#include "common/output.hpp"
#include "common/version.hpp"
#include "costs.hpp"
#include "settings/machines.hpp"
#include "storage/layout.hpp"

namespace {

using namespace choir;
using namespace choir::measure;
namespace fs = std::filesystem;

struct Options {
  std::string folder = ".", output;
  double seconds = 3;
  bool site = false, print = false;
};

/// Cores this process may use: a batch system may have given it fewer than the node has.
int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::vector<Sample> take_samples(Bench& bench, double seconds) {
  std::vector<Sample> samples;
  for (int members = 1; members < bench.cores(); members *= 2) samples.push_back({members, {}});
  samples.push_back({bench.cores(), {}});
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do
    for (auto& sample : samples)
      for (std::size_t figure = 0; figure < figures; ++figure)
        sample.seconds[figure].push_back(bench.time(static_cast<Figure>(figure), sample.members));
  while (Clock::now() < end);
  return samples;
}

std::string today() {
  const auto now = std::time(nullptr);
  std::tm parts{};
  char text[16];
  if (localtime_r(&now, &parts) == nullptr || strftime(text, sizeof text, "%Y-%m-%d", &parts) == 0)
    throw std::runtime_error("the clock cannot be read");
  return text;
}

std::string file_system_of(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error(folder + ": cannot be opened");
  auto name = file_system_name(fd);
  const bool local = is_local_file_system(fd);
  close(fd);
  if (!local)
    throw std::runtime_error(folder + " is on " + name +
                             ", which other nodes share: its servers are not measured here; see "
                             "choir iobench");
  return name;
}

/// One file for a kind of node and a mount, so that measuring again replaces it.
std::string name_of(const MachineFile& machine) {
  std::string name;
  for (const char c : machine.host.cpu + " " + std::to_string(machine.host.cores) + " " +
                          machine.host.kernel + " " + machine.mount)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.')
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name + ".machine";
}

std::string path_for(const MachineFile& machine, const Options& options) {
  if (!options.output.empty()) return options.output;
  const auto folder = options.site ? std::string(site_machine_folder) : user_machine_folder();
  if (folder.empty())
    throw std::runtime_error("neither XDG_CONFIG_HOME nor HOME is set; give --output");
  fs::create_directories(folder);
  return folder + "/" + name_of(machine);
}

/// A job that opens a file meanwhile sees the old figures or the new ones.
void write_whole(const std::string& path, const std::string& text) {
  const auto unfinished = path + "." + std::to_string(getpid());
  std::ofstream out(unfinished, std::ios::binary);
  out << text;
  out.close();
  if (!out || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    std::remove(unfinished.c_str());
    throw std::runtime_error(path + ": cannot be written");
  }
}

std::string rate(const SharedCost& byte, int ranks) {
  return fmt::format("{:.1f}", 1e-9 / byte.at(ranks));
}

std::string table_of(const MachineFile& machine) {
  const auto& c = machine.costs;
  const int cores = machine.host.cores;
  std::string text =
      fmt::format("{}\n{} on {}\n\n{:<34}{:>8}{:>12}\n", machine.host.words(), machine.file_system,
                  machine.mount, "GB/s of all", "1 rank", fmt::format("{} ranks", cores));
  const auto rates = [&](const char* what, const SharedCost& byte) {
    text += fmt::format("{:<34}{:>8}{:>12}\n", what, rate(byte, 1), rate(byte, cores));
  };
  rates("copying", c.copy);
  rates("copying in the caches", c.copy_cached);
  rates("writing a new file", c.write_new.per_byte);
  rates("rewriting a file", c.write_again.per_byte);
  rates("rewriting a file in the caches", c.write_cached);
  rates("reading a file in memory", c.read.per_byte);
  rates("reserving blocks", c.reserve.per_byte);
  rates("pages of a new mapping", c.fault_new);
  rates("pages of a mapping, rewritten", c.fault_again);
  rates("pages of a mapping, read", c.fault_read);
  text += fmt::format("\n{:<34}{:>8}{:>12}\n", "us of a request, elapsed", "1 rank",
                      fmt::format("{} ranks", cores));
  const auto requests = [&](const char* what, const RequestCost& cost) {
    text += fmt::format("{:<34}{:>8.2f}{:>12.2f}\n", what, cost.per_request.at(1) * 1e6,
                        cost.per_request.at(cores) * 1e6);
  };
  requests("writing a new file", c.write_new);
  requests("rewriting a file", c.write_again);
  requests("reading a file", c.read);
  return text +
         fmt::format("{:<34}{:>8}{:>12.2f}\n", "the meetings of a call", "", c.meeting * 1e6);
}

void run(const Options& options) {
  MachineFile machine;
  machine.date = today();
  machine.host = host_kind_here();
  machine.mount = mount_of(options.folder);
  machine.file_system = file_system_of(options.folder);
  Bench bench(options.folder, usable_cores());
  const auto samples = take_samples(bench, options.seconds);
  std::array<Amount, figures> amounts;
  for (std::size_t figure = 0; figure < figures; ++figure)
    amounts[figure] = bench.amount(static_cast<Figure>(figure));
  machine.costs = costs_from(samples, amounts);
  if (options.print) return tools::print(serialise(machine));
  const auto path = path_for(machine, options);
  write_whole(path, serialise(machine));
  tools::print(table_of(machine) + "\nwritten to " + path + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"What moving bytes costs on this kind of node, for files of one mount",
               "choir measure"};
  choir::tools::add_version(app);
  app.add_option("folder", options.folder, "on the mount that jobs write to (here)")
      ->check(CLI::ExistingDirectory);
  app.add_option("--seconds", options.seconds, "about so long; at least one round")
      ->check(tools::above_zero())
      ->capture_default_str();
  auto* const output = app.add_option("-o,--output", options.output, "write this file");
  auto* const site = app.add_flag("--site", options.site,
                                  fmt::format("write to {}, for everyone", site_machine_folder));
  app.add_flag("--print", options.print, "print the machine file and write none")
      ->excludes(output)
      ->excludes(site);
  site->excludes(output);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "choir measure: {}\n", error.what());
    return 1;
  }
  return 0;
}
