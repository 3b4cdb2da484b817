#include "engine/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/joiner.hpp"
#include "engine/known.hpp"
#include "engine/progress.hpp"
#include "mpi/error.hpp"
#include "select/book.hpp"
#include "select/paper.hpp"
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
      identity_(identity_of(facts_.descriptor.get())),
      settings_(settled(std::move(settings), hood_->topology())),
      seats_(seats_for(settings_, hood_->topology())),
      room_(hood_->take_room(seats_, capacity_for(settings_))),
      turn_(settings_.spread_files ? hood_->next_turn() : 0),
      parameters_(parameters_from(settings_, facts_, turn_)),
      mapping_(settings_.mapped_bytes),
      memory_at_open_(settings_.memory) {
  known_end_ = facts_.size;
  hood_->plans().limit(static_cast<std::size_t>(settings_.plan_cache_bytes));
  resolve_strategies();
  start_chooser();
  enlist();
  witness_ = std::make_unique<Witness>(settings_.stats, settings_.trace);
  if (hood_->rank() == 0) count_open_file();
  // One node has no metadata server to overload, and a file deleted while open stays usable, as it
  // does natively.
  if (hood_->one_node()) open_descriptor();
}

File::~File() {
  if (hood_->rank() == 0) {
    auto* const book = dynamic_cast<select::Book*>(chooser_.get());
    close_known(facts_.site, memory_at_open_,
                book ? book->take_differences() : std::map<select::ClassKey, select::Difference>());
  }
  storage_.reset();  // its thread may still be about to ring our bell
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
  joined_choices_.clear();  // they are places among the candidates
  if (settings_.examine != examined_by_) start_chooser();
}

void File::start_chooser() {
  examined_by_ = settings_.examine;
  if (settings_.examine == "paper")
    chooser_ = std::make_unique<select::PaperRule>();
  else
    chooser_ = std::make_unique<select::Book>(facts_.known);
}

void File::forget_knowledge() {
  say_once("the ranks of " + facts_.path +
           " know different things of strategies; all of it is forgotten");
  chooser_->forget();
}

void File::say_once(const std::string& text) {
  if (said_.insert(text).second && hood_->rank() == 0) warn(text);
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

std::optional<int> File::candidate_row(std::string_view name) const {
  for (const int row : candidates_)
    if (table_.rows()[static_cast<std::size_t>(row)].name == name) return row;
  return std::nullopt;
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
  known_end_ = 0;
  const std::lock_guard lock(mutex_);
  mapping_.forget_reserved();
  written_.clear();
}

select::Ground File::ground(Operation operation, Extent span) const {
  using enum select::Ground;
  const bool writing = operation == Operation::write;
  if (span.empty()) return writing ? beyond : cold;
  const bool one_memory = facts_.local_file_system && hood_->one_node();
  if (one_memory && (writing ? prepared_to_write_ : prepared_to_read_).covers(span))
    return prepared;
  if (!writing)
    return one_memory && (facts_.resident || seen_.covers(span) || written_.covers(span)) ? warm
                                                                                          : cold;
  if (written_.covers(span)) return rewritten;
  return span.end > facts_.size ? beyond : inside;
}

void File::note_ground(Operation operation, Extent span, int row) {
  if (span.empty()) return;
  const bool writing = operation == Operation::write;
  (writing ? written_ : seen_).add(span);
  if (writing) known_end_ = std::max(known_end_, span.end);
  if (row >= 0 && table_.rows()[static_cast<std::size_t>(row)].warms_up)
    (writing ? prepared_to_write_ : prepared_to_read_).add(span);
}

void File::note_filled(Operation operation, const PlanEntry& pattern, std::int64_t shift) {
  if (operation == Operation::write && pattern.dense && facts_.local_file_system)
    mapping_.note_filled(pattern.span_at(shift));
}

bool File::busy() const { return under_way_.load(std::memory_order_relaxed) > 0; }

void File::report(const trace::StatsHeader& header) {
  std::map<std::uint64_t, select::Evidence> known;
  for (const auto& key : classes_)
    if (const auto* const evidence = chooser_->evidence(key)) known[key.number()] = *evidence;
  witness_->report(*hood_, *room_, header, known);
}

}  // namespace choir
