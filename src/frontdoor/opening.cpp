#include "frontdoor/opening.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <choir_version.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "access/datatype.hpp"
#include "engine/progress.hpp"
#include "frontdoor/collective.hpp"
#include "frontdoor/lifecycle.hpp"
#include "frontdoor/recording.hpp"
#include "frontdoor/requests.hpp"
#include "mpi/job.hpp"
#include "mpi/real.hpp"
#include "mpi/unique.hpp"
#include "select/signature.hpp"

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

/// Collective: rank 0's files, environment and hints, for everyone.
Settings agreed_settings(MPI_Comm comm, MPI_Info info) {
  const bool first = rank_in(comm) == 0;
  std::string text;
  if (first) {
    auto entries = process_entries();
    for (auto& hint : entries_from_hints(pairs_of(info))) entries.push_back(std::move(hint));
    text = serialise(entries);
  }
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

/// The path behind a name such as "ufs:/scratch/x"; the prefixes are the host MPIs' drivers.
std::string path_of(const char* name) {
  for (const char* prefix :
       {"ufs:", "nfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:", "testfs:", "xfs:"})
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return name + std::strlen(prefix);
  return name;
}

/// What rank 0 finds out about the file, in a form that can be broadcast.
struct Found {
  char file_system[32];
  std::int64_t device, inode, size, stripe_unit;
  int servers, local, exists;
  int first, opened_before;
};

Found look_at(const std::string& path) {
  Found found{};
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int usable = fd >= 0 ? fd : ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat info {};
  if (usable < 0) return found;
  if (fstat(usable, &info) == 0 && S_ISREG(info.st_mode)) {
    found.exists = 1;
    found.device = static_cast<std::int64_t>(info.st_dev);
    found.inode = static_cast<std::int64_t>(info.st_ino);
    found.size = static_cast<std::int64_t>(info.st_size);
    std::strncpy(found.file_system, file_system_name(usable).c_str(), sizeof found.file_system - 1);
    found.local = is_local_file_system(usable) ? 1 : 0;
    if (const auto stripes = read_stripe_layout(usable)) {
      found.stripe_unit = stripes->unit;
      found.servers = stripes->servers;
    }
  }
  ::close(usable);
  return found;
}

/// How often this process has asked that before.
int count_opening(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, int> openings;
  const std::lock_guard lock(mutex);
  return openings[path]++;
}

FileFacts facts_from(const Found& found, std::string path, int mode) {
  FileFacts facts;
  facts.path = std::move(path);
  facts.mode = mode;
  facts.file_system = found.file_system;
  facts.local_file_system = found.local != 0;
  facts.device = found.device;
  facts.inode = found.inode;
  facts.size = found.size;
  facts.first = found.first;
  facts.opened_before = found.opened_before;
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
  record.mode = (file.mode & MPI_MODE_RDONLY) != 0   ? "read-only"
                : (file.mode & MPI_MODE_WRONLY) != 0 ? "write-only"
                                                     : "read-write";
  record.file_system = engine.facts().file_system;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  record.start_s = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  for (const auto& [key, source] : engine.settings().sources)
    for (const auto& known : setting_keys())
      if (key == known.name) record.hints.emplace_back(key, known.get(engine.settings()));
  engine.witness().opened(record);
}

/// Collective: what all ranks of a file say, once no call of it is under way.
struct Agreed {
  int worst = MPI_SUCCESS;  ///< of their error classes
  std::int64_t least = 0, most = 0;
};
Agreed agree(File& engine, int error_class, std::int64_t mine) {
  Progress::instance().wait([&] { return !engine.busy(); }, &engine);
  Outcome outcome;
  outcome.error = error_class;
  outcome.end_of_file = outcome.elapsed_ns = mine;  // the least and the most of all ranks
  try {
    Closing meeting(engine.hood(), engine.room(), outcome);
    Progress::instance().wait([&] { return meeting.poll(); }, &engine);
    const auto& verdict = meeting.verdict();
    return {verdict.error, verdict.end_of_file, verdict.elapsed_ns};
  } catch (const MpiError& e) {
    return {class_of(e.code)};
  }
}

/// Collective. Any failure leaves the file to the host MPI alone: it is open and works.
void attach_engine(MPI_Comm comm, const char* name, int mode, Settings settings, MPI_File handle) {
  auto path = path_of(name);
  Found found{};
  const int opened_before = settings.trace.empty() ? 0 : count_opening(path);
  if (rank_in(comm) == 0) {
    found = look_at(path);
    found.first = job_rank();
    found.opened_before = opened_before;
  }
  check(PMPI_Bcast(&found, sizeof found, MPI_BYTE, 0, comm));
  if (found.exists == 0) return;
  auto file = std::make_unique<OpenFile>();
  file->handle = handle;
  file->mode = mode;
  auto hood = Neighbourhood::of(comm, settings.ranks_per_node, opens_from_several_threads());
  file->engine = std::make_unique<File>(std::move(hood), facts_from(found, std::move(path), mode),
                                        std::move(settings));
  tell_witness(*file);
  Progress::instance().add(file->engine.get());
  OpenFiles::instance().add(std::move(file));
}

}  // namespace

int open_file(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle) {
  int inter = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0)
    return REAL(File_open)(comm, name, mode, info, handle);
  Settings settings;
  try {
    settings = agreed_settings(comm, info);
  } catch (const MpiError& e) {
    return e.code;
  }
  const int code = REAL(File_open)(comm, name, mode, info, handle);
  if (code != MPI_SUCCESS || !engine_wanted(settings, mode)) return code;
  try {
    attach_engine(comm, name, mode, std::move(settings), *handle);
  } catch (const std::exception&) {
    if (rank_in(comm) == 0)
      warn(std::string(name) +
           ": no shared memory for cycle buffers; the host MPI serves this file alone");
  }
  return code;
}

int close_file(MPI_File* handle) {
  auto file = OpenFiles::instance().remove(*handle);
  if (!file) return REAL(File_close)(handle);
  const bool outstanding = file->requests > 0 || file->split != nullptr;
  auto& engine = *file->engine;
  Progress::instance().wait([&] { return !engine.busy(); }, &engine);
  Progress::instance().remove(&engine);
  trace::StatsHeader header;
  header.file = engine.facts().path;
  header.ranks = engine.hood().topology().ranks();
  header.nodes = engine.hood().topology().nodes();
  for (const auto& [key, source] : engine.settings().sources)
    for (const auto& known : setting_keys())
      if (key == known.name) header.hints.emplace_back(key, known.get(engine.settings()));
  try {
    engine.witness().report(engine.hood(), engine.room(), header, engine.selector());
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

namespace {

/// What the engine needs to know of the view the host MPI has just accepted. (A displacement that
/// only the host knows, MPI_DISPLACEMENT_CURRENT, is for sequential files, which it serves alone.)
View view_in_force(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                   const char* representation) {
  View view;
  MPI_Count bytes = 1;
  if (etype != MPI_BYTE) check(PMPI_Type_size_x(etype, &bytes));
  view.layout = {tile_of(filetype), displacement};
  view.etype_bytes = bytes;
  view.served = strcasecmp(representation, "native") == 0 && bytes > 0 &&
                view.layout.tile->bytes() > 0 && view.layout.tile->ascending() &&
                displacement + view.layout.tile->span().begin >= 0;
  return view;
}

/// What the host MPI would refuse on one rank while it waits for the others on theirs.
int error_in_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* representation) {
  if (displacement < 0) return MPI_ERR_ARG;
  if (etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
  if (representation == nullptr) return MPI_ERR_ARG;
  return MPI_SUCCESS;
}

/// Representations have to be the same on all ranks; some may be the program's own.
std::int64_t number_of(const char* representation) {
  select::Signature number;
  for (const char* c = representation; c != nullptr && *c != '\0'; ++c)
    number.add(std::tolower(static_cast<unsigned char>(*c)));
  return static_cast<std::int64_t>(number.value() >> 1);
}

/// Collective: an error that every rank returns before the host MPI is asked.
int agreed_error_in_view(File& engine, MPI_Offset displacement, MPI_Datatype etype,
                         MPI_Datatype filetype, const char* representation) {
  const auto agreed = agree(engine, error_in_view(displacement, etype, filetype, representation),
                            number_of(representation));
  if (agreed.worst != MPI_SUCCESS) return agreed.worst;
  return agreed.least == agreed.most ? MPI_SUCCESS : MPI_ERR_NOT_SAME;
}

}  // namespace

int set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* representation, MPI_Info info) {
  OpenFile* file = OpenFiles::instance().find(handle);
  if (file == nullptr)
    return REAL(File_set_view)(handle, displacement, etype, filetype, representation, info);
  if (const int error =
          agreed_error_in_view(*file->engine, displacement, etype, filetype, representation))
    return raise(handle, error);
  const int code = REAL(File_set_view)(handle, displacement, etype, filetype, representation, info);
  View view;
  try {
    if (code == MPI_SUCCESS) view = view_in_force(displacement, etype, filetype, representation);
  } catch (const MpiError&) {
    view.served = false;
  }
  // Ranks may have different filetypes. One that cannot be served needs the host MPI on all ranks,
  // and a view that the host refused on one rank is an error on all.
  const bool mine_failed = code != MPI_SUCCESS;
  const auto agreed =
      agree(*file->engine, mine_failed ? class_of(code) : MPI_SUCCESS, view.served ? 1 : 0);
  view.served = agreed.least != 0;
  if (agreed.worst != 0) return mine_failed ? code : raise(handle, agreed.worst);
  file->view = view;
  file->pointer_known = false;
  record_view(*file);
  return code;
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
