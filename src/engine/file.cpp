#include "engine/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/joiner.hpp"
#include "engine/progress.hpp"
#include "mpi/error.hpp"
#include "settings/strategies.hpp"

namespace choir {
namespace {

/// Cycle buffers of a node: one per aggregator the settings ask for, and one for a relay.
int seats_for(const Settings& settings, const Topology& topology) {
  const int by_cores = std::min(4, topology.cores_per_node());
  int wanted = settings.aggregators_per_node > 0 ? settings.aggregators_per_node : by_cores;
  wanted = std::max(wanted, settings.writers_per_group);
  int most = 1;
  for (int node = 0; node < topology.nodes(); ++node)
    most = std::max(most, static_cast<int>(topology.ranks_of(node).size()));
  return std::clamp(wanted, 1, most) + 1;
}

/// Settings that are left to the node, decided.
Settings settled(Settings settings, const Topology& topology) {
  if (settings.cycle_buffer_bytes == 0)
    settings.cycle_buffer_bytes =
        default_cycle_bytes(topology.nodes(), topology.ranks(), topology.cores_per_node());
  return settings;
}

std::int64_t capacity_for(const Settings& settings) {
  const auto bytes = settings.cycle_buffer == "scaling"
                         ? std::max(settings.cycle_buffer_bytes, settings.cycle_buffer_max_bytes)
                         : settings.cycle_buffer_bytes;
  return std::max<std::int64_t>(bytes, 4096);
}

Parameters parameters_from(const Settings& s, const FileFacts& facts, int turn) {
  Parameters p;
  p.turn = s.spread_files ? turn : 0;
  p.aggregators_per_node = s.aggregators_per_node;
  p.aggregators = s.aggregators;
  p.aggregators_per_server = s.aggregators_per_server;
  p.cycle_bytes = s.cycle_buffer_bytes;
  p.scaling = s.cycle_buffer == "scaling";
  p.most_cycle_bytes = capacity_for(s);
  p.group_size = s.group_size;
  p.writers_per_group = s.writers_per_group;
  p.concurrent = s.concurrent;
  p.sieve_threshold = s.sieve_threshold;
  if (s.striping_unit > 0 && s.striping_factor > 0) {
    p.stripe_unit = s.striping_unit;
    p.stripe_servers = s.striping_factor;
  } else if (facts.stripes) {
    p.stripe_unit = facts.stripes->unit;
    p.stripe_servers = facts.stripes->servers;
  }
  return p;
}

}  // namespace

void warn(const std::string& text) {
  if (std::getenv("CHOIR_QUIET") == nullptr)
    std::fprintf(stderr, "choir: warning: %s\n", text.c_str());
}

int error_class_of(int errno_value) {
  switch (errno_value) {
    case 0:
      return MPI_SUCCESS;
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case ENOENT:
      return MPI_ERR_NO_SUCH_FILE;
    case EBADF:
      return MPI_ERR_AMODE;
    case ENOMEM:
      return MPI_ERR_NO_MEM;
    default:
      return MPI_ERR_IO;
  }
}

File::File(std::shared_ptr<Neighbourhood> hood, FileFacts facts, Settings settings)
    : hood_(std::move(hood)),
      facts_(std::move(facts)),
      settings_(settled(std::move(settings), hood_->topology())),
      seats_(seats_for(settings_, hood_->topology())),
      room_(hood_->take_room(seats_, capacity_for(settings_))),
      turn_(settings_.spread_files ? hood_->next_turn() : 0),
      parameters_(parameters_from(settings_, facts_, turn_)),
      mapping_(settings_.mapped_bytes) {
  hood_->plans().limit(static_cast<std::size_t>(settings_.plan_cache_bytes));
  resolve_strategies();
  hood_->learned().load(*hood_, *room_, settings_.memory);
  start_selector();
  enlist();
  witness_ = std::make_unique<Witness>(settings_.stats, settings_.trace);
  // One node has no metadata server to overload, and a file deleted while open stays usable, as it
  // does natively.
  if (hood_->one_node()) open_descriptor();
}

File::~File() {
  for (const auto signature : signatures_)
    if (const auto* state = selector_.state(signature))
      hood_->learned().remember(facts_.file_system, signature, state->result());
  hood_->learned().store(*hood_, settings_.memory);
  storage_.reset();  // its thread may still be about to ring our bell
  if (fd_ >= 0) ::close(fd_);
  if (joiner_) joiner_->leave(joiner_number_);
  hood_->give_back(std::move(room_));
}

void File::change_settings(const Settings& settings) {
  settings_ = settled(settings, hood_->topology());
  settings_.cycle_buffer_bytes =
      std::min(settings_.cycle_buffer_bytes, room_->arena->shape().capacity);
  settings_.cycle_buffer_max_bytes =
      std::min(settings_.cycle_buffer_max_bytes, room_->arena->shape().capacity);
  parameters_ = parameters_from(settings_, facts_, turn_);
  table_ = StrategyTable();
  candidates_.clear();
  resolve_strategies();
  start_selector();  // what was learned may name strategies that are no candidates any more
}

void File::start_selector() {
  select::Policy policy;
  policy.calls_each = settings_.examine_calls;
  policy.drift = settings_.drift;
  selector_ = select::Selector(policy);
  for (const auto& [signature, remembered] : hood_->learned().of(facts_.file_system))
    selector_.seed(signature, remembered);
}

void File::resolve_strategies() {
  std::vector<std::string> warnings;
  auto named = name_strategies(settings_, table_, warnings);
  if (hood_->rank() == 0)
    for (const auto& text : warnings) warn(text);
  fixed_read_ = named.read;
  fixed_write_ = named.write;
  candidates_ = std::move(named.candidates);
}

PlanKey File::plan_key(int row) const {
  return {table_.rows()[static_cast<std::size_t>(row)].planner, parameters_, seats_};
}

std::optional<int> File::fixed_row(Operation operation) const {
  return operation == Operation::read ? fixed_read_ : fixed_write_;
}

std::shared_ptr<Call> File::start(CallRequest request, bool leave) {
  auto call = std::make_shared<Call>(*this, std::move(request));
  enter(call, leave);
  return call;
}

void File::enter(std::shared_ptr<Call> call, bool leave) {
  under_way_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(incoming_mutex_);
    incoming_.push_back(std::move(call));
    apart_ = true;
  }
  if (!leave) poll();
}

/// Collective. By itself only where it gains (each call costs messages) and costs no overlap (a
/// thread starts what is held while the program computes).
bool File::wants_joining() {
  const auto& wish = settings_.join_nonblocking;
  if (wish == "off" || hood_->topology().ranks() == 1) return false;
  if (wish == "on") return true;
  if (hood_->one_node()) return false;
  int everywhere = Progress::instance().thread_serves(*this) ? 1 : 0;
  check(PMPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, room_->comm.get()));
  return everywhere != 0;
}

/// Collective, as opening files is.
void File::enlist() {
  if (!wants_joining()) return;
  joiner_ = Joiner::of(hood_);
  if (joiner_) joiner_number_ = joiner_->enlist();
  if (joiner_number_ < 0) joiner_.reset();
}

bool File::joins() const { return joiner_ && settings_.join_nonblocking != "off"; }

std::shared_ptr<Call> File::start_joinable(CallRequest request, bool patient) {
  auto call = std::make_shared<Call>(*this, std::move(request));
  call->hold();
  bool apart = false;
  {
    const std::lock_guard lock(incoming_mutex_);
    apart = apart_.exchange(false);
    under_way_.fetch_add(1, std::memory_order_relaxed);
    incoming_.push_back(call);
  }
  has_joined_ = true;
  joiner_->hold(joiner_number_, call, apart, patient);
  return call;
}

void File::hurry() {
  if (joiner_) joiner_->hurry();
}

Bell& File::bell() {
  Bell* const muster = joiner_ ? joiner_->bell() : nullptr;
  return muster != nullptr ? *muster : own_bell();
}

Bell& File::own_bell() { return room_->arena->bell(hood_->local()); }

bool File::poll() {
  if (!busy()) return false;
  bool advanced = joiner_ && joiner_->poll();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return advanced;
  while (true) {
    if (calls_.empty()) {
      const std::lock_guard moving(incoming_mutex_);
      calls_.swap(incoming_);
      if (calls_.empty()) return advanced;
    }
    if (calls_.front()->poll()) advanced = true;
    if (!calls_.front()->done()) return advanced;
    calls_.pop_front();
    under_way_.fetch_sub(1, std::memory_order_relaxed);
    advanced = true;
  }
}

void File::finish_host(Call& call, int error_class, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  call.host_finished(error_class, bytes);
}

std::pair<std::string, std::string> File::last_choice() {
  const std::lock_guard lock(choice_mutex_);
  return choice_;
}

void File::note_choice(std::string_view strategy, std::string_view reason) {
  const std::lock_guard lock(choice_mutex_);
  if (choice_.first == strategy && choice_.second == reason) return;
  choice_ = {std::string(strategy), std::string(reason)};
}

void File::size_changed() {
  const std::lock_guard lock(mutex_);
  mapping_.forget_reserved();
  written_.clear();
}

Ground File::ground(Operation operation, Extent span) const {
  // Only the strategy of local files and one node prepares anything.
  if (span.empty() || !facts_.local_file_system || !hood_->one_node()) return {};
  if (operation == Operation::write)
    return {!written_.covers(span), prepared_to_write_.covers(span)};
  return {false, prepared_to_read_.covers(span)};
}

void File::note_ground(Operation operation, Extent span, int row) {
  if (span.empty()) return;
  const bool writing = operation == Operation::write;
  if (writing) written_.add(span);
  if (table_.rows()[static_cast<std::size_t>(row)].warms_up)
    (writing ? prepared_to_write_ : prepared_to_read_).add(span);
}

void File::note_filled(Operation operation, const PlanEntry& pattern, std::int64_t shift) {
  if (operation == Operation::write && pattern.dense && facts_.local_file_system)
    mapping_.note_filled(pattern.span_at(shift));
}

bool File::busy() const { return under_way_.load(std::memory_order_relaxed) > 0; }

void File::open_descriptor() {
  tried_ = true;
  const bool reads_only = (facts_.mode & MPI_MODE_RDONLY) != 0;
  fd_ = ::open(facts_.path.c_str(), (reads_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
  if (fd_ < 0 && !reads_only) {
    fd_ = ::open(facts_.path.c_str(), O_WRONLY | O_CLOEXEC);
    readable_ = false;
  }
  if (fd_ < 0) {
    fd_error_ = errno;
    return;
  }
  struct stat info {};
  if (fstat(fd_, &info) != 0 || static_cast<std::int64_t>(info.st_ino) != facts_.inode) {
    ::close(fd_);  // another file has taken this one's name: never write into it
    fd_ = -1;
    fd_error_ = ESTALE;
    return;
  }
  Device* device = &system_device();
  if (!settings_.fault.empty()) {
    const auto fault = parse_fault(settings_.fault);
    if (fault.rank < 0 || fault.rank == hood_->rank()) {
      faulty_ = faulty_device(*device, fault);
      device = faulty_.get();
    }
  }
  open_storage(*device);
}

void File::open_storage(Device& device) {
  // Local storage takes no longer than handing it over.
  const auto& wish = settings_.backend;
  const bool beside = wish == "threaded" || (wish == "auto" && !facts_.local_file_system);
  if (wish == "io_uring" && !faulty_) storage_ = uring_storage(fd_);
  if (beside) storage_ = threaded_storage(fd_, device, [this] { ring(own_bell()); });
  if (!storage_) storage_ = posix_storage(fd_, device);
}

int File::flush() {
  // Also bytes stored through a mapping: they are pages of the same file.
  if (fd_ < 0 || (facts_.mode & MPI_MODE_RDONLY) != 0) return 0;
  int result = 0;
  do result = fsync(fd_);
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : error_class_of(errno);
}

int File::descriptor(int& error) {
  if (!tried_) open_descriptor();
  error = fd_error_;
  return fd_;
}

Storage* File::storage(int& error) {
  if (!tried_) open_descriptor();
  error = fd_error_;
  return storage_.get();
}

}  // namespace choir
