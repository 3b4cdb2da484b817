#include "frontdoor/opening.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <choir_version.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "engine/known.hpp"
#include "engine/progress.hpp"
#include "frontdoor/agree.hpp"
#include "frontdoor/collective.hpp"
#include "frontdoor/company.hpp"
#include "frontdoor/host_file.hpp"
#include "frontdoor/lifecycle.hpp"
#include "frontdoor/requests.hpp"
#include "mpi/host_costs.hpp"
#include "mpi/job.hpp"
#include "mpi/real.hpp"
#include "mpi/unique.hpp"
#include "settings/machines.hpp"
#include "storage/residency.hpp"

namespace choir {
namespace {

/// What this process's files and environment say, read once.
const Entries& process_entries() {
  static const Entries entries = [] {
    std::vector<std::string> warnings;
    auto read = read_entries(warnings);
    for (const auto& text : warnings) warn(text);
    return read;
  }();
  return entries;
}

std::vector<std::pair<std::string, std::string>> pairs_of(MPI_Info info) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (info == MPI_INFO_NULL) return pairs;
  int count = 0;
  check(PMPI_Info_get_nkeys(info, &count));
  for (int i = 0; i < count; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {};
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    check(PMPI_Info_get_nthkey(info, i, key));
    check(PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
    if (found != 0) pairs.emplace_back(key, value);
  }
  return pairs;
}

/// Collective over `comm`: rank 0's text on every rank.
std::string broadcast(std::string text, MPI_Comm comm) {
  struct {
    std::uint64_t size;
    char start[1016];  // most texts are shorter
  } first = {text.size(), {}};
  std::memcpy(first.start, text.data(), std::min(text.size(), sizeof first.start));
  check(PMPI_Bcast(&first, sizeof first, MPI_BYTE, 0, comm));
  text.resize(first.size);
  std::memcpy(text.data(), first.start, std::min(text.size(), sizeof first.start));
  if (text.size() > sizeof first.start)
    check(PMPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, comm));
  return text;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(PMPI_Comm_rank(comm, &rank));
  return rank;
}

/// This rank's files, environment and hints.
Entries entries_here(MPI_Info info) {
  auto entries = process_entries();
  for (auto& hint : entries_from_hints(pairs_of(info))) entries.push_back(std::move(hint));
  return entries;
}

/// Collective: rank 0's files, environment and hints, for everyone.
Settings agreed_settings(MPI_Comm comm, MPI_Info info) {
  const bool first = rank_in(comm) == 0;
  std::string text;
  if (first) text = serialise(entries_here(info));
  text = broadcast(std::move(text), comm);
  Settings settings;
  static std::string warned;  // once per distinct set: programs open thousands of files
  const auto warnings = apply_entries(settings, deserialise(text));
  if (first && text != warned)
    for (const auto& warning : warnings) warn(warning);
  warned = text;
  try {
    if (!settings.fault.empty()) parse_fault(settings.fault);
  } catch (const std::exception& e) {
    if (first) warn("fault: " + std::string(e.what()) + "; ignored");
    settings.fault.clear();
  }
  return settings;
}

/// What rank 0 finds out about the file, in a form that can be broadcast.
struct Found {
  char file_system[32];
  std::int64_t device, inode, size, stripe_unit;
  int servers, local, reserves, exists, resident, open_files;
  int first, opened_before;
  MachineCosts costs;
};

Found look_at(int fd) {
  Found found{};
  struct stat info {};
  if (fstat(fd, &info) != 0) return found;
  found.exists = 1;
  found.device = static_cast<std::int64_t>(info.st_dev);
  found.inode = static_cast<std::int64_t>(info.st_ino);
  constexpr std::int64_t block = 512;  // the unit of st_blocks, whatever the file system's is
  const bool solid = info.st_blocks * block >= info.st_size;
  found.size = solid ? static_cast<std::int64_t>(info.st_size) : 0;
  std::strncpy(found.file_system, file_system_name(fd).c_str(), sizeof found.file_system - 1);
  found.local = is_local_file_system(fd) ? 1 : 0;
  found.resident = found.local != 0 && mostly_resident(fd, info.st_size) ? 1 : 0;
  found.reserves = can_reserve_blocks(fd) ? 1 : 0;
  if (const auto stripes = read_stripe_layout(fd)) {
    found.stripe_unit = stripes->unit;
    found.servers = stripes->servers;
  }
  return found;
}

/// The figures for files of this device, by rank 0's machine files; they are read once. Warns.
MachineCosts costs_for(const std::string& setting, std::int64_t device) {
  static std::mutex mutex;
  static std::map<std::string, Machines> known;
  const std::lock_guard lock(mutex);
  auto found = known.find(setting);
  if (found == known.end()) found = known.emplace(setting, Machines(setting)).first;
  const auto* const measured = found->second.costs_for(device);
  for (const auto& text : found->second.take_warnings()) warn(text);
  auto costs = measured != nullptr ? *measured : usual_machine;
  costs.host = host_costs();
  return costs;
}

/// How often this process has asked that before.
int count_opening(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, int> openings;
  const std::lock_guard lock(mutex);
  return openings[path]++;
}

FileFacts facts_from(const Found& found, HostFile& host, int mode) {
  FileFacts facts;
  facts.path = host.path();
  facts.descriptor = host.take();
  facts.mode = mode;
  facts.file_system = found.file_system;
  facts.local_file_system = found.local != 0;
  facts.reserves = found.reserves != 0;
  facts.device = found.device;
  facts.inode = found.inode;
  facts.size = found.size;
  facts.resident = found.resident != 0;
  facts.open_files = found.open_files;
  facts.first = found.first;
  facts.opened_before = found.opened_before;
  facts.costs = found.costs;
  if (found.servers > 0) facts.stripes = StripeLayout{found.stripe_unit, found.servers};
  return facts;
}

/// With everything left to the host MPI choir stays out of the way, unless the user wants to see
/// the calls: then they pass by the engine, which hands each to the host.
bool engine_wanted(const Settings& settings, int mode) {
  if ((mode & MPI_MODE_SEQUENTIAL) != 0) return false;
  const bool native = is_native(settings, Operation::read) && is_native(settings, Operation::write);
  return !native || settings.stats || !settings.trace.empty() || !settings.record.empty();
}

const char* name_of_mode(int mode) {
  return (mode & MPI_MODE_RDONLY) != 0   ? "read-only"
         : (mode & MPI_MODE_WRONLY) != 0 ? "write-only"
                                         : "read-write";
}

double unix_time() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Those that somebody has set.
std::vector<std::pair<std::string, std::string>> hints_in_force(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> hints;
  for (const auto& [key, source] : settings.sources)
    for (const auto& known : setting_keys())
      if (key == known.name) hints.emplace_back(key, known.get(settings));
  return hints;
}

void tell_witness(OpenFile& file) {
  auto& engine = *file.engine;
  trace::OpenRecord record;
  record.file = engine.facts().path;
  record.open = engine.facts().opened_before;
  record.first = engine.facts().first;
  record.ranks = engine.hood().topology().ranks();
  record.rank = engine.hood().rank();
  record.nodes = engine.hood().topology().nodes();
  record.node = engine.hood().node();
  record.mode = name_of_mode(file.mode);
  record.file_system = engine.facts().file_system;
  record.start_s = unix_time();
  record.hints = hints_in_force(engine.settings());
  engine.witness().opened(record);
}

/// The host MPI serves the file alone. Who wants a table or a trace is told how many calls there
/// were. Local.
void watch_unserved(MPI_Comm comm, const char* name, int mode, const Settings& settings,
                    MPI_File handle, trace::Left why, bool prints) {
  if (!settings.stats && settings.trace.empty()) return;
  auto file = std::make_unique<OpenFile>();
  file->handle = handle;
  file->mode = mode;
  trace::OpenRecord record;
  record.file = name;
  record.rank = rank_in(comm);
  check(PMPI_Comm_size(comm, &record.ranks));
  record.mode = name_of_mode(mode);
  record.start_s = unix_time();
  record.hints = hints_in_force(settings);
  file->unserved = std::make_unique<Unserved>(
      settings, trace::StatsHeader{name, record.ranks, 0, record.hints}, why, prints);
  file->witness().opened(record);
  OpenFiles::instance().add(std::move(file));
}

/// Collective: what rank 0 found, and what it knows, for everyone. One broadcast, unless it knows
/// more than fits.
void broadcast_found(Found& found, std::string& known, MPI_Comm comm) {
  struct {
    Found found;
    std::uint64_t size;
    char start[8192 - sizeof(Found) - sizeof(std::uint64_t)];
  } packet{};
  packet.found = found;
  packet.size = known.size();
  std::memcpy(packet.start, known.data(), std::min(known.size(), sizeof packet.start));
  check(PMPI_Bcast(&packet, sizeof packet, MPI_BYTE, 0, comm));
  found = packet.found;
  known.resize(packet.size);
  const auto there = std::min(known.size(), sizeof packet.start);
  std::memcpy(known.data(), packet.start, there);
  if (known.size() > there)
    check(PMPI_Bcast(known.data() + there, static_cast<int>(known.size() - there), MPI_CHAR, 0,
                     comm));
}

/// Rank 0 knows the file. Local: whether this rank has it too.
void find_as_known(HostFile& host, const Found& known, const Neighbourhood& hood, const char* name,
                   int mode) {
  if (hood.rank() == 0) return;
  const int flags = (mode & MPI_MODE_RDONLY) != 0   ? O_RDONLY
                    : (mode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                                    : O_RDWR;
  const bool same_machine = hood.topology().node_of(0) == hood.node();
  host.find({known.device, known.inode}, same_machine, name, flags);
}

/// Collective. Why the file is left to the host MPI alone after all; it is open and works.
trace::Left attach_engine(MPI_Comm comm, const char* name, HostFile& host, int mode,
                          Settings settings, MPI_File handle) {
  auto hood = Neighbourhood::of(comm, settings.ranks_per_node, opens_from_several_threads());
  Found found{};
  std::string known;
  select::Site site;
  const int opened_before = settings.trace.empty() ? 0 : count_opening(name);
  if (hood->rank() == 0 && host.find(name)) {
    found = look_at(host.descriptor());
    found.first = job_rank();
    found.opened_before = opened_before;
    if (found.exists != 0) {
      site = site_of(hood->topology().ranks(), hood->topology().nodes(), host.path(),
                     found.file_system);
      auto at_open = open_known(site, settings.memory);
      known = std::move(at_open.lines);
      found.open_files = at_open.open_files;
      found.costs = costs_for(settings.machine, found.device);
    }
  }
  broadcast_found(found, known, comm);
  if (found.exists == 0) return trace::Left::not_regular;
  find_as_known(host, found, *hood, name, mode);
  auto facts = facts_from(found, host, mode);
  facts.known = std::move(known);
  facts.site = std::move(site);
  auto file = std::make_unique<OpenFile>();
  file->handle = handle;
  file->mode = mode;
  file->engine = std::make_unique<File>(std::move(hood), std::move(facts), std::move(settings));
  if (agree(*file->engine, MPI_SUCCESS, file->engine->reachable() ? 1 : 0).least == 0)
    return trace::Left::unreachable;
  tell_witness(*file);
  Progress::instance().add(file->engine.get());
  OpenFiles::instance().add(std::move(file));
  return trace::Left::no;
}

/// Nobody knows whether the other processes run under choir: no collective of ours.
int open_among_others(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle,
                      Company company) {
  const int code = REAL(File_open)(comm, name, mode, info, handle);
  if (code != MPI_SUCCESS) return code;
  try {
    Settings settings;
    apply_entries(settings, entries_here(info));
    watch_unserved(comm, name, mode, settings, *handle, company.left, company.speaks);
  } catch (const std::exception&) {
    warn(std::string(name) + ": its calls cannot be counted");
  }
  return code;
}

}  // namespace

int open_file(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle) {
  int inter = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0)
    return REAL(File_open)(comm, name, mode, info, handle);
  Settings settings;
  try {
    const auto company = company_of(comm);
    if (company.left != trace::Left::no)
      return open_among_others(comm, name, mode, info, handle, company);
    settings = agreed_settings(comm, info);
  } catch (const MpiError& e) {
    return e.code;
  }
  std::optional<HostFile> host;
  if (engine_wanted(settings, mode)) host.emplace();
  const int code = REAL(File_open)(comm, name, mode, info, handle);
  if (code != MPI_SUCCESS) return code;
  const bool first = rank_in(comm) == 0;
  auto left = trace::Left::no;
  if (!host) {
    left = (mode & MPI_MODE_SEQUENTIAL) != 0 ? trace::Left::sequential : trace::Left::strategy;
  } else
    try {
      left = attach_engine(comm, name, *host, mode, settings, *handle);
    } catch (const std::exception&) {
      left = trace::Left::no_memory;
      if (first)
        warn(std::string(name) +
             ": no shared memory for cycle buffers; the host MPI serves this file alone");
    }
  if (left != trace::Left::no) watch_unserved(comm, name, mode, settings, *handle, left, first);
  return code;
}

int close_file(MPI_File* handle) {
  auto file = OpenFiles::instance().remove(*handle);
  if (!file) return REAL(File_close)(handle);
  if (file->unserved) {
    file->unserved->witness.report_alone(file->unserved->header, file->unserved->prints);
    return REAL(File_close)(handle);
  }
  const bool outstanding = file->requests > 0 || file->split != nullptr;
  auto& engine = *file->engine;
  Progress::instance().wait([&] { return !engine.busy(); }, &engine);
  Progress::instance().remove(&engine);
  const auto& topology = engine.hood().topology();
  const trace::StatsHeader header{engine.facts().path, topology.ranks(), topology.nodes(),
                                  hints_in_force(engine.settings())};
  try {
    engine.report(header);
  } catch (const MpiError&) {
    warn("the statistics of " + header.file + " could not be combined");
  }
  retire_requests(file.get());
  file.reset();
  const int code = REAL(File_close)(handle);
  // The bytes are in the file, but the program closed it with requests open, which the standard
  // forbids.
  return code == MPI_SUCCESS && outstanding ? MPI_ERR_REQUEST : code;
}

int set_info(MPI_File handle, MPI_Info info) {
  const int code = REAL(File_set_info)(handle, info);
  OpenFile* file = OpenFiles::instance().find(handle);
  if (file == nullptr || code != MPI_SUCCESS) return code;
  return c_boundary(handle, [&] {
    auto& engine = *file->engine;
    Progress::instance().wait([&] { return !engine.busy(); }, &engine);
    std::string text;
    if (engine.hood().rank() == 0) text = serialise(entries_from_hints(pairs_of(info)));
    text = broadcast(std::move(text), engine.room().comm.get());
    auto settings = engine.settings();
    const auto warnings = apply_entries(settings, deserialise(text));
    if (engine.hood().rank() == 0)
      for (const auto& warning : warnings) warn(warning);
    if (!text.empty()) engine.change_settings(settings);
    return MPI_SUCCESS;
  });
}

int get_info(MPI_File handle, MPI_Info* info) {
  const int code = REAL(File_get_info)(handle, info);
  OpenFile* file = OpenFiles::instance().find(handle);
  if (code != MPI_SUCCESS || file == nullptr || *info == MPI_INFO_NULL) return code;
  auto& engine = *file->engine;
  const auto put = [&](const std::string& key, const std::string& value) {
    if (!value.empty())
      PMPI_Info_set(*info, key.c_str(), value.substr(0, MPI_MAX_INFO_VAL - 1).c_str());
  };
  for (const auto& key : setting_keys())
    put(std::string("choir_") + key.name, key.get(engine.settings()));
  put("choir_version", CHOIR_VERSION);
  const auto [strategy, reason] = engine.last_choice();
  if (engine.settings().strategy == "auto" && !strategy.empty())
    put("choir_strategy", "auto (" + strategy + ")");
  put("choir_reason", reason);
  put("cb_buffer_size", std::to_string(engine.parameters().cycle_bytes));
  return code;
}

int sync_file(MPI_File handle) {
  const int code = REAL(File_sync)(handle);
  OpenFile* file = OpenFiles::instance().find(handle);
  if (file == nullptr) return code;
  // The host flushes only if it knows of a write, and it knows nothing of choir's.
  auto& engine = *file->engine;
  Progress::instance().wait([&] { return !engine.busy(); }, &engine);
  const int flushed = engine.flush();
  const auto worst = agree(engine, code != MPI_SUCCESS ? class_of(code) : flushed, true).worst;
  return code != MPI_SUCCESS ? code : raise(handle, worst);
}

int set_atomicity(MPI_File handle, int flag) {
  const int code = REAL(File_set_atomicity)(handle, flag);
  if (OpenFile* file = OpenFiles::instance().find(handle); file != nullptr && code == MPI_SUCCESS)
    file->atomic = flag != 0;
  return code;
}

int set_size(MPI_File handle, MPI_Offset size) {
  const int code = REAL(File_set_size)(handle, size);
  if (OpenFile* file = OpenFiles::instance().find(handle); file != nullptr && file->engine)
    file->engine->size_changed();
  return code;
}

}  // namespace choir
