#include "frontdoor/recording.hpp"

#include <map>
#include <mutex>

#include "mpi/error.hpp"
#include "place/recorder.hpp"

namespace choir {
namespace {

/// A rank with a longer list is described by its span: placement needs neighbours, not every piece.
constexpr std::size_t most_runs = 4096;

struct Recordings {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<place::Recorder>> by_path;
  std::map<std::string, int> ranks;
};

Recordings& recordings() {
  static auto* const all = new Recordings;
  return *all;
}

std::vector<place::AccessRun> runs_of(const Access& access) {
  std::vector<place::AccessRun> runs;
  bool too_many = false;
  visit_runs(access.file, access.begin, access.end, [&](const Run& run) {
    if (runs.size() >= most_runs)
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

/// Collective: every rank's runs on rank 0.
place::GatheredRuns gather(OpenFile& file, const std::vector<place::AccessRun>& mine) {
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
  place::GatheredRuns gathered;
  std::size_t next = 0;
  for (std::size_t r = 0; r < ranks && file.engine->hood().rank() == 0; ++r) {
    const auto count = static_cast<std::size_t>(counts[r]) / sizeof(place::AccessRun);
    gathered.append_rank(std::span(all).subspan(next, count));
    next += count;
  }
  return gathered;
}

place::Recorder& recorder_for(OpenFile& file) {
  auto& all = recordings();
  const int ranks = file.engine->hood().topology().ranks();
  auto& recorder = all.by_path[file.engine->settings().record];
  auto& known = all.ranks[file.engine->settings().record];
  if (!recorder || known != ranks) recorder = std::make_unique<place::Recorder>(known = ranks);
  return *recorder;
}

void add(OpenFile& file, const Access& access, bool is_call) {
  if (file.engine->settings().record.empty()) return;
  const auto gathered = gather(file, runs_of(access));
  if (file.engine->hood().rank() != 0) return;
  const std::lock_guard lock(recordings().mutex);
  auto& recorder = recorder_for(file);
  if (is_call)
    recorder.add_call(gathered);
  else
    recorder.add_view(gathered);
}

}  // namespace

void record_view(OpenFile& file) {
  if (!file.view.served) return;
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
  recordings().by_path.clear();
}

}  // namespace choir
