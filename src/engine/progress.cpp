#include "engine/progress.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/joiner.hpp"
#include "mpi/host_progress.hpp"
#include "mpi/job.hpp"

namespace choir {
namespace {

/// Looks without effect before a waiter sleeps. With a core of its own, about the time of a few
/// windows: being woken takes a good part of one. Less where a thread of ours may need that core.
constexpr int looks_alone = 30000;
constexpr int looks_beside_thread = 2000;
constexpr int looks_crowded = 20;
/// Looks after which a waiter lets others run in between: that there are cores enough on this node
/// does not say that nobody else needs them.
constexpr int looks_in_haste = 300;
/// Looks after which a waiter attends to the program's messages.
constexpr int looks_between_messages = 1000;
constexpr double long_sleep_s = 1e-3;
/// With messages on their way, only polling MPI finds them.
constexpr double short_sleep_s = 50e-6;
/// The thread's, while its calls wait for others: it hears one file's bell only, and no messages.
constexpr double thread_sleep_s = 2e-3;
constexpr double thread_short_sleep_s = 200e-6;
/// What top and gdb show; at most 15 letters.
constexpr const char* thread_name = "choir-progress";

/// A program's own messages need MPI's attention while it waits here, as they would get it in the
/// host's collective.
void attend_to_messages(File& file) {
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, token_tag, file.room().comm.get(), &found, MPI_STATUS_IGNORE);
}

bool needs_mpi(File& file) { return !file.hood().one_node(); }

}  // namespace

struct Progress::State {
  struct Entry {
    File* file;
    bool by_thread;                            ///< its nonblocking calls are the thread's business
    std::vector<std::shared_ptr<Call>> calls;  ///< nonblocking ones under way, oldest first
  };

  std::mutex mutex;  ///< never held while a file is advanced: that may take as long as a disk
  std::vector<Entry> files;
  std::vector<File*> pinned;  ///< being advanced by somebody right now
  std::condition_variable work;
  std::condition_variable unpinned;
  std::thread thread;
  bool stopping = false;

  Entry* find(const File* file) {
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const Entry& entry) { return entry.file == file; });
    return found == files.end() ? nullptr : &*found;
  }
  /// Work for the thread: a nonblocking call of a file it serves.
  static bool waits_for_thread(const Entry& entry) {
    return entry.by_thread && !entry.calls.empty();
  }
  void unpin(File* file) {
    pinned.erase(std::find(pinned.begin(), pinned.end(), file));
    unpinned.notify_all();
  }
};

Progress& Progress::instance() {
  static Progress progress;
  return progress;
}

Progress::State& Progress::state() const {
  static auto* const state =
      new State;  // outlives every thread, whatever order the program ends in
  return *state;
}

void Progress::add(File* file) {
  const bool by_thread = thread_serves(*file);
  const std::lock_guard lock(state().mutex);
  state().files.push_back({file, by_thread, {}});
}

void Progress::remove(File* file) {
  auto& s = state();
  std::unique_lock lock(s.mutex);
  if (const auto* entry = s.find(file); entry != nullptr && !entry->by_thread)
    unserved_.fetch_sub(static_cast<int>(entry->calls.size()), std::memory_order_relaxed);
  std::erase_if(s.files, [&](const auto& entry) { return entry.file == file; });
  s.unpinned.wait(
      lock, [&] { return std::find(s.pinned.begin(), s.pinned.end(), file) == s.pinned.end(); });
}

/// Advances one file, pinned meanwhile so that it cannot be closed, and forgets calls that are
/// done.
bool Progress::poll_file(std::size_t index, std::unique_lock<std::mutex>& lock) {
  auto& s = state();
  File* const file = s.files[index].file;
  s.pinned.push_back(file);
  lock.unlock();
  bool advanced = false;
  try {
    advanced = file->poll();
  } catch (...) {
    lock.lock();
    s.unpin(file);
    throw;
  }
  lock.lock();
  s.unpin(file);
  if (auto* entry = s.find(file)) {
    const auto gone = std::erase_if(entry->calls, [](const auto& call) { return call->done(); });
    if (!entry->by_thread) unserved_.fetch_sub(static_cast<int>(gone), std::memory_order_relaxed);
  }
  return advanced;
}

template <class Wanted>
bool Progress::poll_files(Wanted&& wanted) {
  auto& s = state();
  bool advanced = false;
  std::unique_lock lock(s.mutex);
  for (std::size_t i = 0; i < s.files.size(); ++i)
    if (wanted(s.files[i]) && poll_file(i, lock)) advanced = true;
  return advanced;
}

bool Progress::poll() {
  return poll_files([](const State::Entry& entry) { return entry.file->busy(); });
}

bool Progress::poll_unserved() {
  if (!program_needed()) return false;
  return poll_files(
      [](const State::Entry& entry) { return !entry.by_thread && !entry.calls.empty(); });
}

bool Progress::busy() const {
  const std::lock_guard lock(state().mutex);
  for (const auto& entry : state().files)
    if (entry.file->busy()) return true;
  return false;
}

bool Progress::thread_at_work() const {
  if (!has_thread_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(state().mutex);
  return std::any_of(state().files.begin(), state().files.end(), State::waits_for_thread);
}

void Progress::hurry() {
  if (!Joiner::any_held()) return;
  const std::lock_guard lock(state().mutex);
  for (auto& entry : state().files) {
    if (!entry.file->joins() || !entry.file->busy()) continue;
    entry.file->hurry();
    if (entry.by_thread) ring(entry.file->room().arena->bell(entry.file->hood().local()));
  }
}

/// Advances a file that is waited for; if its call is part of one led by another file, that one,
/// pinned: another thread of the program may be about to close it.
bool Progress::advance(File& file) {
  if (file.poll()) return true;
  File* const leader = file.leader();
  if (leader == nullptr || leader == &file) return false;
  auto& s = state();
  std::unique_lock lock(s.mutex);
  const auto* entry = s.find(leader);
  return entry != nullptr && poll_file(static_cast<std::size_t>(entry - s.files.data()), lock);
}

void Progress::wait(const std::function<bool()>& done, File* file) {
  const bool crowded = file->hood().crowded();
  const int most_looks = crowded            ? looks_crowded
                         : thread_at_work() ? looks_beside_thread
                                            : looks_alone;
  int looks = 0;
  file->hurry();
  while (true) {
    if (done()) return;
    // The call waited for first; other files that have nobody else are looked at less often.
    if (advance(*file) || (looks % 16 == 15 && poll_unserved())) {
      looks = 0;
      continue;
    }
    if (done()) return;
    if (++looks % looks_between_messages == 0 || looks >= most_looks) attend_to_messages(*file);
    if (looks < most_looks) {
      if (crowded || looks >= looks_in_haste)
        sched_yield();
      else
        __builtin_ia32_pause();
      continue;
    }
    Nap nap(file->bell());
    if (done() || advance(*file)) continue;
    const bool alone = !needs_mpi(*file) && !program_needed() && file->leader() == nullptr;
    nap.sleep(alone ? long_sleep_s : short_sleep_s);
  }
}

bool Progress::thread_serves(File& file) const {
  return file.settings().progress != "poll" && (!needs_mpi(file) || job_allows_threads());
}

void Progress::call_started(File& file, std::shared_ptr<Call> call) {
  const bool by_thread = thread_serves(file);
  if (!by_thread && !in_host_.exchange(true)) join_host_progress(advance_inside_host);
  const std::lock_guard lock(state().mutex);
  auto* entry = state().find(&file);
  if (entry == nullptr) return;
  if (entry->calls.empty()) entry->by_thread = by_thread;  // MPI_File_set_info may have changed it
  entry->calls.push_back(std::move(call));
  if (!entry->by_thread) {
    unserved_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (!has_thread_.exchange(true)) start_thread();
  state().work.notify_one();
}

void Progress::start_thread() {
  state().stopping = false;
  // The program's signals are the program's: our thread takes none, but what it did itself. Where
  // those are blocked the kernel ends the program, though `mapped` knows what to do.
  sigset_t all, old;
  sigfillset(&all);
  for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  state().thread = std::thread([this] { run(); });
  pthread_setname_np(state().thread.native_handle(), thread_name);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

/// The host MPI waits for something: our calls must not stand still meanwhile, since what it waits
/// for may depend on them. What we call of MPI in here waits too, and comes back in: once is
/// enough.
int Progress::advance_inside_host() noexcept {
  static thread_local bool inside = false;
  if (inside || !instance().program_needed()) return 0;
  inside = true;
  bool advanced = false;
  try {
    advanced = instance().poll_unserved();
  } catch (...) {
    // The call is as it was; whoever waits for it meets the same error, where it can be reported.
  }
  inside = false;
  return advanced ? 1 : 0;
}

void Progress::stop() {
  if (in_host_.exchange(false)) leave_host_progress(advance_inside_host);
  {
    const std::lock_guard lock(state().mutex);
    if (!has_thread_.load()) return;
    state().stopping = true;
    state().work.notify_one();
  }
  state().thread.join();
  has_thread_ = false;
}

void Progress::run() {
  auto& s = state();
  while (true) {
    File* first = nullptr;
    std::ptrdiff_t files = 0;
    {
      std::unique_lock lock(s.mutex);
      s.work.wait(lock, [&] {
        files = std::count_if(s.files.begin(), s.files.end(), State::waits_for_thread);
        return files > 0 || s.stopping;
      });
      if (s.stopping) return;
      first = std::find_if(s.files.begin(), s.files.end(), State::waits_for_thread)->file;
      s.pinned.push_back(first);  // while we listen to its bell
    }
    Bell& bell = first->bell();
    const auto advance = [this] {
      try {
        return poll_files(State::waits_for_thread);
      } catch (...) {
        // The call is as it was; whoever waits for it meets the same error, where it can be
        // reported.
        return false;
      }
    };
    bool advanced = advance();
    if (!advanced) {
      Nap nap(bell);
      advanced = advance();
      if (!advanced)
        nap.sleep(needs_mpi(*first) || files > 1 ? thread_short_sleep_s : thread_sleep_s);
    }
    if (advanced) ring(bell);  // the program may be asleep on it
    const std::lock_guard lock(s.mutex);
    s.unpin(first);
  }
}

}  // namespace choir
