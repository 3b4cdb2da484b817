// estimates.cpp: see estimates.hpp.
#include "estimates.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>

#include "common/in_force.hpp"
#include "driver.hpp"
#include "mpi/host_costs.hpp"
#include "settings/machines.hpp"
#include "storage/layout.hpp"

namespace choir::bench {

namespace {

/// What rank 0 knows of the place, for everyone.
struct Place {
  MachineCosts costs;
  int cores, local;
};

Place look_at(const std::string& directory) {
  std::vector<std::string> warnings;
  Place place{usual_machine, 1, 0};
  place.cores = host_kind_here().cores;
  struct stat info {};
  if (stat(directory.c_str(), &info) == 0) {
    Machines machines(tools::settings_in_force(warnings).machine);
    if (const auto* const measured = machines.costs_for(static_cast<std::int64_t>(info.st_dev)))
      place.costs = *measured;
  }
  place.costs.host = host_costs();
  if (const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); fd >= 0) {
    place.local = is_local_file_system(fd) ? 1 : 0;
    ::close(fd);
  }
  return place;
}

struct Ask {
  std::int64_t low = 0, high = 0, bytes = 0, pieces = 0;
};

Ask ask_of(const Pieces& pieces) {
  Ask ask;
  for (const auto& piece : pieces) {
    if (piece.bytes() == 0) continue;
    ask.low = ask.bytes == 0 ? piece.offset : std::min(ask.low, piece.offset);
    ask.high = std::max(ask.high, piece.end());
    ask.bytes += piece.bytes();
    ask.pieces += piece.count;
  }
  return ask;
}

std::vector<Ask> everyones(const Ask& mine, int ranks) {
  std::vector<Ask> all(static_cast<std::size_t>(ranks));
  constexpr int numbers = sizeof(Ask) / sizeof(std::int64_t);
  check(
      MPI_Allgather(&mine, numbers, MPI_INT64_T, all.data(), numbers, MPI_INT64_T, MPI_COMM_WORLD));
  return all;
}

}  // namespace

std::vector<double> estimates_of(const std::vector<std::string>& contenders, const Program& program,
                                 const Ground& ground) {
  std::vector<double> seconds(contenders.size(), 0);
  if (!on_one_host()) return seconds;
  int ranks = 1, rank = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  auto place = rank == 0 ? look_at(ground.directory) : Place{usual_machine, 1, 0};
  check(MPI_Bcast(&place, sizeof place, MPI_BYTE, 0, MPI_COMM_WORLD));
  const StrategyTable table;
  const Topology topology(std::vector<int>(static_cast<std::size_t>(ranks), 0), place.cores);
  Situation situation;
  situation.writing = ground.operation == Operation::write;
  situation.local_file_system = place.local != 0;
  situation.new_ground = situation.writing && ground.fresh;
  situation.prepared = !situation.new_ground;  // untimed steps have been there
  situation.machine = &place.costs;
  const std::int64_t mine = program.bytes();
  check(MPI_Allreduce(&mine, &situation.written_bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  for (const auto& call : program.calls) {
    std::vector<RankSummary> summaries;
    situation.pieces = 0;
    for (const auto& ask : everyones(ask_of(call.file), ranks)) {
      summaries.push_back({ask.low, ask.high, ask.bytes});
      situation.pieces += ask.pieces;
    }
    const PlanInput in{topology, summaries, {}, std::min({4, place.cores, ranks})};
    for (std::size_t i = 0; i < contenders.size(); ++i)
      if (const auto row = table.find(contenders[i] == "host" ? "native" : contenders[i]))
        seconds[i] += table.rows()[static_cast<std::size_t>(*row)].estimate_s(in, situation);
  }
  for (auto& one : seconds)
    if (!std::isfinite(one)) one = 0;
  return seconds;
}

}  // namespace choir::bench
