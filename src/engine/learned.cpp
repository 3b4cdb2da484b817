#include "engine/learned.hpp"

#include <choir_version.hpp>
#include <ctime>

#include "engine/room.hpp"
#include "mpi/error.hpp"
#include "select/memory.hpp"

namespace choir {
namespace {

/// Results of one host MPI say little about another's.
constexpr const char* memory_version = CHOIR_VERSION "-" CHOIR_MPI_NAME;

/// What of the file concerns a job of this shape and this version, as lines again.
std::string relevant(const std::string& path, int ranks, int nodes) {
  auto memory = select::load_memory(path);
  memory.remove_if([&](const select::MemoryEntry& entry) {
    return entry.key.ranks != ranks || entry.key.nodes != nodes ||
           entry.key.version != memory_version;
  });
  return memory.serialise();
}

/// Whether a new result says something the old one did not.
bool differs(const select::Remembered& old, const select::Remembered& now) {
  return old.name != now.name || now.bytes_per_s > 1.2 * old.bytes_per_s ||
         now.bytes_per_s < 0.8 * old.bytes_per_s;
}

}  // namespace

void Learned::load(const Neighbourhood& hood, Room& room, const std::string& setting) {
  // Settings are equal on all ranks; the environment of rank 0 decides below.
  const auto path = select::memory_path(setting);
  if (loaded_ || setting == "off") return;
  loaded_ = true;
  std::string text;
  if (hood.rank() == 0 && !path.empty())
    text = relevant(path, hood.topology().ranks(), hood.topology().nodes());
  unsigned long long size = text.size();
  check(PMPI_Bcast(&size, 1, MPI_UNSIGNED_LONG_LONG, 0, room.comm.get()));
  if (size == 0) return;
  text.resize(size);
  check(PMPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, room.comm.get()));
  const auto memory = select::Memory::parse(text);
  for (const auto& [key, entry] : memory.entries())
    known_[key.file_system][key.signature] = {entry.strategy, entry.bytes_per_s};
}

void Learned::remember(const std::string& file_system, std::uint64_t signature,
                       const select::Remembered& result) {
  if (result.name.empty()) return;
  auto& known = known_[file_system][signature];
  if (!differs(known, result)) return;
  known = result;
  fresh_[file_system][signature] = result;
}

void Learned::store(const Neighbourhood& hood, const std::string& setting) {
  const auto path = select::memory_path(setting);
  if (!fresh_.empty() && hood.rank() == 0 && !path.empty()) {
    std::vector<select::MemoryEntry> entries;
    for (const auto& [file_system, results] : fresh_)
      for (const auto& [signature, result] : results)
        entries.push_back({{signature, hood.topology().ranks(), hood.topology().nodes(),
                            file_system, memory_version},
                           result.name,
                           result.bytes_per_s,
                           static_cast<std::int64_t>(std::time(nullptr))});
    select::store_memory(path,
                         entries);  // an aid only: a full home directory must not disturb the job
  }
  fresh_.clear();
}

}  // namespace choir
