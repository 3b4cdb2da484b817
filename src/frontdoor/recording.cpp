#include "frontdoor/recording.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>

#include "mpi/error.hpp"
#include "mpi/job.hpp"
#include "place/recorder.hpp"

namespace choir {
namespace {

/// A rank with a longer list is described by its span: placement needs neighbours, not every piece.
constexpr std::size_t most_runs = 4096;
/// What one gather may bring to its root.
constexpr std::size_t most_gathered_bytes = std::size_t{1} << 30;

struct Recordings {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<place::Recorder>> by_path;
};

Recordings& recordings() {
  static auto* const all = new Recordings;
  return *all;
}

/// Per rank of `comm`, its rank in the job: placement is about the job's ranks, whatever
/// communicator a file was opened with. MPI_UNDEFINED for processes of another job.
std::vector<int> ranks_in_job(MPI_Comm comm, std::size_t ranks) {
  MPI_Group job = job_group(), mine = MPI_GROUP_NULL;
  check(PMPI_Comm_group(comm, &mine));
  std::vector<int> from(ranks), to(ranks);
  std::iota(from.begin(), from.end(), 0);
  const int code =
      PMPI_Group_translate_ranks(mine, static_cast<int>(ranks), from.data(), job, to.data());
  PMPI_Group_free(&mine);
  if (job != MPI_GROUP_EMPTY) PMPI_Group_free(&job);
  check(code);
  return to;
}

std::vector<place::AccessRun> runs_of(const Access& access, std::size_t ranks) {
  const auto most = std::min(most_runs, most_gathered_bytes / sizeof(place::AccessRun) / ranks);
  std::vector<place::AccessRun> runs;
  bool too_many = false;
  visit_runs(access.file, access.begin, access.end, [&](const Run& run) {
    if (runs.size() >= most)
      too_many = true;
    else
      runs.push_back({run.offset, run.length, run.stride, run.count});
  });
  if (too_many) {
    const auto span = access.span();
    runs = {{span.begin, span.size(), 0, 1}};
  }
  return runs;
}

/// Collective: on rank 0 of the file, every rank's runs by its rank in the job; nothing
/// elsewhere.
std::optional<place::GatheredRuns> gather(OpenFile& file,
                                          const std::vector<place::AccessRun>& mine) {
  const MPI_Comm comm = file.engine->room().comm.get();
  const auto ranks = static_cast<std::size_t>(file.engine->hood().topology().ranks());
  const int bytes = static_cast<int>(mine.size() * sizeof(place::AccessRun));
  std::vector<int> counts(ranks), places(ranks);
  check(PMPI_Gather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm));
  int total = 0;
  for (std::size_t r = 0; r < ranks; ++r) places[r] = total, total += counts[r];
  std::vector<place::AccessRun> all(static_cast<std::size_t>(total) / sizeof(place::AccessRun));
  check(PMPI_Gatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), places.data(),
                     MPI_BYTE, 0, comm));
  if (file.engine->hood().rank() != 0) return std::nullopt;
  const auto in_job = ranks_in_job(comm, ranks);
  std::vector<int> member(static_cast<std::size_t>(job_size()), -1);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (in_job[r] == MPI_UNDEFINED) return std::nullopt;
    member[static_cast<std::size_t>(in_job[r])] = static_cast<int>(r);
  }
  place::GatheredRuns gathered;
  for (const int r : member) {
    const auto at = static_cast<std::size_t>(std::max(r, 0));
    const auto count = r < 0 ? 0 : static_cast<std::size_t>(counts[at]) / sizeof(place::AccessRun);
    const auto first = static_cast<std::size_t>(places[at]) / sizeof(place::AccessRun);
    gathered.append_rank(std::span(all).subspan(count == 0 ? 0 : first, count));
  }
  return gathered;
}

/// Files whose rank 0 is another rank of the job go to a file of their own, FILE.RANK.
std::string path_for(const std::string& path) {
  const int rank = job_rank();
  return rank == 0 ? path : path + "." + std::to_string(rank);
}

void add(OpenFile& file, const Access& access, bool is_call) {
  const auto& path = file.engine->settings().record;
  const auto ranks = static_cast<std::size_t>(file.engine->hood().topology().ranks());
  if (path.empty() || ranks == 1) return;  // a rank alone exchanges nothing
  const auto gathered = gather(file, runs_of(access, ranks));
  if (!gathered) return;
  const std::lock_guard lock(recordings().mutex);
  auto& recorder = recordings().by_path[path_for(path)];
  if (!recorder) recorder = std::make_unique<place::Recorder>(job_size());
  if (is_call)
    recorder->add_call(*gathered);
  else
    recorder->add_view(*gathered);
}

}  // namespace

void record_view(OpenFile& file) {
  if (file.view.left != trace::Left::no || file.engine->settings().record.empty()) return;
  add(file, {file.view.layout, 0, file.view.layout.tile->bytes()}, false);
}

void record_call(OpenFile& file, const Access& access) { add(file, access, true); }

void finish_recording() {
  const std::lock_guard lock(recordings().mutex);
  for (auto& [path, recorder] : recordings().by_path) try {
      place::write_file(path, recorder->recording());
    } catch (const std::exception& e) {
      warn("the recording was not written: " + std::string(e.what()));
    }
}

}  // namespace choir
