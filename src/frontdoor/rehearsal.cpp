#include "frontdoor/rehearsal.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <mutex>

#include "access/block_copy.hpp"
#include "engine/present.hpp"
#include "frontdoor/collective.hpp"
#include "frontdoor/requests.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

/// The ordinary way, the one where ranks run ahead, and the short one of repeated calls.
constexpr int calls_each = 3;
/// Of a length that no program's pattern is likely to have.
constexpr std::size_t bytes = 4093;

/// Memory that can be opened by a path, as long as this object lives.
class NamelessFile {
 public:
  NamelessFile() : fd_(memfd_create("choir-rehearsal", MFD_CLOEXEC)) {}
  ~NamelessFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  /// Without a descriptor the calls will fail, on all ranks, and nobody minds.
  FileFacts facts() const {
    FileFacts facts;
    facts.path = "/proc/self/fd/" + std::to_string(fd_);
    facts.mode = MPI_MODE_RDWR;
    facts.file_system = "rehearsal";
    facts.local_file_system = true;
    struct stat info {};
    if (fstat(fd_, &info) == 0) facts.inode = static_cast<std::int64_t>(info.st_ino);
    return facts;
  }

 private:
  int fd_;
};

/// The program's, without what would be seen afterwards. What is wrong with its strategies is told
/// once, when its own file is opened.
Settings unseen(Settings settings) {
  settings.strategy = "auto";
  settings.read_strategy.clear();
  settings.write_strategy.clear();
  settings.candidates.clear();
  settings.custom.clear();
  settings.plugins.clear();
  settings.memory = "off";
  settings.stats = false;
  settings.trace.clear();
  settings.record.clear();
  settings.fault.clear();
  settings.join_nonblocking = "off";
  settings.spread_files = false;
  return settings;
}

void make_call(OpenFile& file, Operation operation) {
  std::array<char, bytes> buffer{};
  const auto place = static_cast<MPI_Offset>(file.engine->hood().rank()) * MPI_Offset{bytes};
  const DataCall call{MPI_FILE_NULL, operation, "", place, buffer.data(), bytes, MPI_BYTE};
  const auto host = [](MPI_Status* status) {
    set_status(status, 0);
    return MPI_SUCCESS;
  };
  serve_blocking(file, call, MPI_STATUS_IGNORE, host);
}

/// Calls as short as these settle who serves without a thought. Those of the program may be longer,
/// and a first thought meets code and tables for the first time, libm's among them.
void think() {
  constexpr int calls = 6;
  constexpr double call_s = 1e-3;
  const std::array<select::Candidate, 3> candidates{
      {{"individual", call_s, false, select::Debut::free},
       {"native", 1.1 * call_s},
       {"two_phase", 1.3 * call_s}}};
  select::Selector selector;
  for (int i = 0; i < calls; ++i) {
    selector.peek(0, candidates);
    selector.record(0, selector.next(0, candidates).candidate, call_s, bytes);
  }
}

}  // namespace

void rehearse(const std::shared_ptr<Neighbourhood>& hood, Settings settings) {
  static std::once_flag once;
  std::call_once(once, [] {
    make_code_present();
    find_file_functions();
    copy_ways();
  });
  if (!hood->one_node() || hood->crowded() || !hood->take_rehearsal()) return;
  const NamelessFile stage;
  OpenFile file;
  file.mode = MPI_MODE_RDWR;
  file.engine = std::make_unique<File>(hood, stage.facts(), unseen(std::move(settings)));
  for (const auto operation : {Operation::write, Operation::read})
    for (int i = 0; i < calls_each; ++i) make_call(file, operation);
  auto by_mapping = file.engine->settings();
  by_mapping.strategy = "mapped";
  file.engine->change_settings(by_mapping);
  for (const auto operation : {Operation::write, Operation::read}) make_call(file, operation);
  think();
  hood->plans().hits = hood->plans().misses = 0;
}

}  // namespace choir
