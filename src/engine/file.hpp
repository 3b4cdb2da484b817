// file.hpp: an open file as the engine sees it: where its ranks meet, what is set, which calls are
// under way.
//
// Calls on one file are carried out in the order they were made, which MPI guarantees to be the
// same on all ranks. Thread safe: a progress thread may poll while the program waits.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "engine/call.hpp"
#include "engine/witness.hpp"
#include "plan/strategy.hpp"
#include "settings/settings.hpp"
#include "storage/descriptor.hpp"
#include "storage/layout.hpp"

namespace choir {

/// What the ranks agreed on when the file was opened.
struct FileFacts {
  std::string path;
  int mode = 0;  ///< MPI_MODE_*
  std::string file_system;
  bool local_file_system = false;
  bool reserves = true;                ///< blocks can be had ahead of stores into a mapping
  std::int64_t device = 0, inode = 0;  ///< as the first rank sees them
  Descriptor descriptor;               ///< this rank's: what the host MPI has opened
  std::int64_t size = 0;               ///< then; 0 if the storage has no blocks for all of it
  bool resident = false;               ///< most of it was in memory then
  std::optional<StripeLayout> stripes;
  int first = 0;          ///< of its ranks, in MPI_COMM_WORLD
  int opened_before = 0;  ///< by that rank's process; counted while there is a trace
  std::string known;      ///< what rank 0 knows of strategies here
  select::Site site;      ///< on rank 0, which keeps what is known
  int open_files = 1;     ///< of which its process is rank 0, with this one
  MachineCosts costs{};   ///< what estimates are computed from
};

class File final : public FileAccess {
 public:
  /// Collective. Throws MpiError on all ranks if there is no memory for cycle buffers.
  File(std::shared_ptr<Neighbourhood> hood, FileFacts facts, Settings settings);
  /// Collective: the room goes back. All calls are done.
  ~File() override;

  Neighbourhood& hood() { return *hood_; }
  Room& room() { return *room_; }
  const FileFacts& facts() const { return facts_; }
  /// Local, after opening: whether this rank has the file, or will have it when it needs it.
  bool reachable() const { return identity_ && fd_error_ == 0; }
  const Settings& settings() const { return settings_; }
  /// The same change on all ranks, with no call under way. Cycle buffers keep the size they have.
  void change_settings(const Settings& settings);
  const StrategyTable& strategies() const { return table_; }
  /// Inside a call: what is known of strategies, and who serves.
  select::Chooser& chooser() { return *chooser_; }
  /// Inside a call, on all ranks: they turned out to know different things.
  void forget_knowledge();
  Witness& witness() { return *witness_; }
  const Parameters& parameters() const { return parameters_; }
  int seats() const { return seats_; }
  /// What plans by a strategy of the table follow from, besides the pattern.
  PlanKey plan_key(int row) const;
  /// The row a fixed strategy names; nothing: auto.
  std::optional<int> fixed_row(Operation operation) const;
  /// Rows auto may choose from.
  const std::vector<int>& candidates() const { return candidates_; }
  std::optional<int> candidate_row(std::string_view name) const;
  /// Rank 0 warns, once for each sentence.
  void say_once(const std::string& text);
  /// The strategy of the latest call and why, for MPI_File_get_info.
  std::pair<std::string, std::string> last_choice();
  void note_choice(std::string_view strategy, std::string_view reason);
  /// A class of the file's calls, for the table at close.
  void note_class(const select::ClassKey& key) { classes_.insert(key); }
  /// What calls find there. It follows from the calls before, so all ranks say the same.
  select::Ground ground(Operation operation, Extent span) const;
  /// A call has been there, by the strategy of this row; -1: a joined one.
  void note_ground(Operation operation, Extent span, int row);
  /// The strategy that served many files together, if everyone asked as now: its number among the
  /// lead's candidates; nothing: not known.
  std::map<std::uint64_t, std::size_t>& joined_choices() { return joined_choices_; }
  std::int64_t written_bytes() const { return written_.bytes(); }
  /// A call of this pattern has been carried out.
  void note_filled(Operation operation, const PlanEntry& pattern, std::int64_t shift);

  /// Begins a call: it runs after those before it. With `leave` the first step too is left to
  /// whoever polls next: it may be one that waits for storage.
  std::shared_ptr<Call> start(CallRequest request, bool leave = false);
  void enter(std::shared_ptr<Call> call, bool leave = false);
  /// Whether nonblocking calls on this file wait to be joined with others. The same on all ranks.
  bool joins() const;
  /// Whether start_joinable() was ever called. The same on all ranks at the same call of the file.
  bool has_joined() const { return has_joined_; }
  /// A nonblocking call that waits for others; see Joiner::hold.
  std::shared_ptr<Call> start_joinable(CallRequest request, bool patient);
  /// The program waits: what is held is started as soon as all ranks have it.
  void hurry();
  /// The file whose polling advances this one's call; null: this one's own.
  File* leader() const { return leader_.load(std::memory_order_acquire); }
  void set_leader(File* file) { leader_.store(file, std::memory_order_release); }
  /// What rings when this file's calls may go on.
  Bell& bell();
  /// The host MPI has carried out what `call` wanted of it.
  void finish_host(Call& call, int error_class, std::int64_t bytes);
  /// Advances the calls under way; true if anything happened.
  bool poll();
  bool busy() const;
  /// Collective: the table at close, if it is wanted.
  void report(const trace::StatsHeader& header);
  /// Local: what this rank has written goes to the device. An MPI error class; 0: done.
  int flush();

  Storage* storage(int& error) override;
  int descriptor(int& error) override;
  bool readable() override { return readable_; }
  bool is_local() const override { return facts_.local_file_system; }
  FileMapping& mapping() override { return mapping_; }
  /// The file is known to have bytes up to there, from its opening or by what was written since.
  bool certainly_reaches(std::int64_t end) const { return end <= known_end_; }
  /// The program has set the file's size; no call is under way.
  void size_changed();

 private:
  Descriptor descriptor_for_transfers() const;
  void open_descriptor();
  void open_storage(Device& device);
  Bell& own_bell();
  void resolve_strategies();
  void start_chooser();
  bool wants_joining();
  void enlist();

  std::shared_ptr<Neighbourhood> hood_;
  FileFacts facts_;
  std::optional<FileIdentity> identity_;  ///< of what the host MPI has opened here
  Settings settings_;
  int seats_;
  std::unique_ptr<Room> room_;
  int turn_;
  StrategyTable table_;
  Parameters parameters_;
  std::vector<int> candidates_;
  std::optional<int> fixed_read_, fixed_write_;
  std::unique_ptr<select::Chooser> chooser_;
  std::string examined_by_;
  std::set<select::ClassKey> classes_;
  std::set<std::string> said_;
  std::map<std::uint64_t, std::size_t> joined_choices_;
  std::int64_t known_end_ = 0;
  ExtentSet written_, seen_, prepared_to_read_, prepared_to_write_;
  std::unique_ptr<Witness> witness_;

  std::mutex choice_mutex_;
  std::pair<std::string, std::string> choice_;
  std::mutex
      incoming_mutex_;  ///< held for a moment only: starting a call never waits for one that runs
  std::deque<std::shared_ptr<Call>> incoming_;
  std::mutex mutex_;  ///< held while calls advance
  std::deque<std::shared_ptr<Call>> calls_;
  std::atomic<int> under_way_{0};
  std::atomic<File*> leader_{nullptr};

  std::shared_ptr<Joiner> joiner_;
  int joiner_number_ = -1;
  /// Calls that are not joined were made since the last one that is; the same on all ranks.
  std::atomic<bool> apart_{false};
  std::atomic<bool> has_joined_{false};

  Descriptor fd_;
  int fd_error_ = 0;
  bool tried_ = false;
  bool readable_ = true;
  FileMapping mapping_;
  std::string memory_at_open_;
  std::unique_ptr<Device> faulty_;
  std::unique_ptr<Storage> storage_;
};

/// An MPI error class for an errno number.
int error_class_of(int errno_value);

/// One line on standard error, unless CHOIR_QUIET is set.
void warn(const std::string& text);

}  // namespace choir
