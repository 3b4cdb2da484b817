// choir-netbench: latency and bandwidth inside nodes and between them, by ping-pong over the real
// MPI.
//
//   mpiexec ... choir-netbench --output arch.json        at least two ranks per node, to see inside
//   nodes
//
// Collective. One pair of ranks is measured at a time; the others sleep, so that an oversubscribed
// node does not measure its own scheduler. Writes the architecture matrix `choir place --arch`
// reads.
#include <fmt/core.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/version.hpp"

namespace {

struct Options {
  int bytes = 1 << 20;
  int repeat = 50;
  int cores = 0;
  std::string output = "-";
};

/// Any MPI error ends the program: there is nothing to save.
void check(int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fmt::print(stderr, "choir netbench: {}\n", std::string(text, static_cast<std::size_t>(length)));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Everyone waits here; waiting costs no core.
void quiet_barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  for (int done = 0; !done;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (!done) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

/// Seconds one way, the median over `repeat` round trips. Local to the two ranks.
double one_way_s(bool first, int peer, std::vector<char>& buffer, int bytes, int repeat) {
  constexpr int warm_up = 5;
  std::vector<double> times;
  for (int i = 0; i < repeat + warm_up; ++i) {
    const double start = MPI_Wtime();
    if (first) {
      check(MPI_Send(buffer.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD));
      check(MPI_Recv(buffer.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      check(MPI_Recv(buffer.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      check(MPI_Send(buffer.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD));
    }
    if (i >= warm_up) times.push_back((MPI_Wtime() - start) / 2);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

struct Link {
  double latency_s = 0;
  double bandwidth_Bps = 0;
};

/// Collective. What ranks a and b see of each other; known on rank 0.
Link measure(int a, int b, const Options& options) {
  int me = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &me));
  double seconds[2] = {0, 0};
  if (me == a || me == b) {
    std::vector<char> buffer(static_cast<std::size_t>(options.bytes));
    seconds[0] = one_way_s(me == a, me == a ? b : a, buffer, 1, options.repeat);
    seconds[1] = one_way_s(me == a, me == a ? b : a, buffer, options.bytes, options.repeat);
  }
  constexpr int tag = 1;
  if (a != 0 && me == a) check(MPI_Send(seconds, 2, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD));
  quiet_barrier();
  if (a != 0 && me == 0)
    check(MPI_Recv(seconds, 2, MPI_DOUBLE, a, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return {seconds[0], options.bytes / std::max(seconds[1], 1e-12)};
}

struct Host {
  std::string name;
  int cores = 0;
  std::vector<int> ranks;
};

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Collective. Hosts in the order of their first rank, the same everywhere. A binding hides cores
/// from a single rank, so a host has at least as many cores as ranks.
std::vector<Host> find_hosts(int cores_given) {
  int size = 0, length = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &size));
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  check(MPI_Get_processor_name(name, &length));
  std::vector<char> names(static_cast<std::size_t>(size) * MPI_MAX_PROCESSOR_NAME);
  check(MPI_Allgather(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME,
                      MPI_CHAR, MPI_COMM_WORLD));
  const int mine = cores_given > 0 ? cores_given : usable_cores();
  std::vector<int> cores(static_cast<std::size_t>(size));
  check(MPI_Allgather(&mine, 1, MPI_INT, cores.data(), 1, MPI_INT, MPI_COMM_WORLD));
  std::vector<Host> hosts;
  std::map<std::string, std::size_t> index;
  for (int rank = 0; rank < size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const std::string host = &names[at * MPI_MAX_PROCESSOR_NAME];
    const auto [found, fresh] = index.try_emplace(host, hosts.size());
    if (fresh) hosts.push_back({host, 0, {}});
    auto& entry = hosts[found->second];
    entry.ranks.push_back(rank);
    entry.cores = std::max(
        {entry.cores, cores[at], cores_given > 0 ? 0 : static_cast<int>(entry.ranks.size())});
  }
  return hosts;
}

/// Collective. Every pair of hosts, and the first two ranks of each host.
std::vector<std::vector<Link>> measure_all(const std::vector<Host>& hosts, const Options& options) {
  std::vector<std::vector<Link>> links(hosts.size(), std::vector<Link>(hosts.size()));
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].ranks.size() > 1)
      links[i][i] = measure(hosts[i].ranks[0], hosts[i].ranks[1], options);
    for (std::size_t j = i + 1; j < hosts.size(); ++j)
      links[i][j] = links[j][i] = measure(hosts[i].ranks[0], hosts[j].ranks[0], options);
  }
  return links;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

template <class Value>
std::string matrix(const std::vector<std::vector<Link>>& links, Value&& value) {
  std::string text = "[";
  for (std::size_t i = 0; i < links.size(); ++i) {
    text += i == 0 ? "\n  [" : ",\n  [";
    for (std::size_t j = 0; j < links.size(); ++j)
      text += fmt::format("{}{:.6g}", j == 0 ? "" : ", ", value(links[i][j]));
    text += "]";
  }
  return text + "]";
}

std::string json(const std::vector<Host>& hosts, const std::vector<std::vector<Link>>& links,
                 const Options& options) {
  std::string nodes;
  for (const auto& host : hosts)
    nodes += fmt::format("{}\n  {{\"name\": {}, \"cores\": {}}}", nodes.empty() ? "" : ",",
                         quoted(host.name), host.cores);
  return fmt::format(
      "{{\"format\": \"choir-arch\", \"version\": 1, \"message_bytes\": {},\n \"nodes\": [{}],\n"
      " \"latency_s\": {},\n \"bandwidth_Bps\": {}}}\n",
      options.bytes, nodes, matrix(links, [](const Link& link) { return link.latency_s; }),
      matrix(links, [](const Link& link) { return link.bandwidth_Bps; }));
}

bool write_text(const std::string& path, const std::string& text) {
  std::FILE* out = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  bool good = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (out != nullptr) good = (path == "-" ? std::fflush(out) : std::fclose(out)) == 0 && good;
  if (!good)
    fmt::print(stderr, "choir netbench: cannot write {}: {}\n", path, std::strerror(errno));
  return good;
}

void print_summary(const std::vector<Host>& hosts, const std::vector<std::vector<Link>>& links) {
  for (std::size_t i = 0; i < hosts.size(); ++i)
    for (std::size_t j = i; j < hosts.size(); ++j) {
      if (links[i][j].bandwidth_Bps == 0) continue;
      fmt::print(stderr, "{:<20} {:<20} {:10.2f} us {:10.1f} MB/s\n", hosts[i].name,
                 i == j ? "(inside)" : hosts[j].name, links[i][j].latency_s * 1e6,
                 links[i][j].bandwidth_Bps / 1e6);
    }
}

int run(const Options& options, int rank) {
  int size = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size < 2) {
    fmt::print(stderr, "choir netbench: at least two ranks are needed, better two per node\n");
    return 2;
  }
  const auto hosts = find_hosts(options.cores);
  const auto links = measure_all(hosts, options);
  int good = 1;
  if (rank == 0) {
    print_summary(hosts, links);
    good = write_text(options.output, json(hosts, links, options)) ? 1 : 0;
  }
  check(MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD));
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Latency and bandwidth inside nodes and between them", "choir netbench"};
  choir::tools::add_version(app);
  app.add_option("--bytes", options.bytes, "message for the bandwidth")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "round trips per measurement")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--cores", options.cores, "cores per node, if not what this process may use")
      ->check(CLI::PositiveNumber);
  app.add_option("-o,--output", options.output, "file for the matrix; - for standard output")
      ->capture_default_str();
  check(MPI_Init(&argc, &argv));
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  int code = 0;
  try {
    app.parse(argc, argv);
    code = run(options, rank);
  } catch (const CLI::ParseError& error) {
    code = error.get_exit_code() == 0 ? 0 : 2;
    if (rank == 0) app.exit(error);
  }
  check(MPI_Finalize());
  return code;
}
