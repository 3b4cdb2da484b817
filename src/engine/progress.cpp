#include "engine/progress.hpp"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace choir {
namespace {

/// Looks without effect before a waiter sleeps: about the time a neighbour needs for a small
/// window.
constexpr int looks_alone = 2000;
constexpr int looks_crowded = 20;
constexpr double long_sleep_s = 1e-3;
/// With messages on their way, only polling MPI finds them.
constexpr double short_sleep_s = 50e-6;

/// A program's own messages need MPI's attention while it waits here, as they would get it in the
/// host's collective.
void attend_to_messages(File& file) {
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, token_tag, file.room().comm.get(), &found, MPI_STATUS_IGNORE);
}

bool needs_mpi(File& file) { return !file.hood().one_node(); }

bool mpi_allows_threads() {
  int level = MPI_THREAD_SINGLE;
  return PMPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
}

}  // namespace

struct Progress::State {
  std::mutex mutex;  ///< never held while a file is advanced: that may take as long as a disk
  std::vector<File*> files;
  std::vector<File*> pinned;  ///< being advanced by somebody right now
  std::condition_variable work;
  std::condition_variable unpinned;
  std::thread thread;
  bool stopping = false;
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
  const std::lock_guard lock(state().mutex);
  state().files.push_back(file);
}

void Progress::remove(File* file) {
  auto& s = state();
  std::unique_lock lock(s.mutex);
  std::erase(s.files, file);
  s.unpinned.wait(
      lock, [&] { return std::find(s.pinned.begin(), s.pinned.end(), file) == s.pinned.end(); });
}

/// Advances the files `wanted` selects, each pinned meanwhile so that it cannot be closed.
template <class Wanted>
bool Progress::poll_files(Wanted&& wanted) {
  auto& s = state();
  bool advanced = false;
  std::unique_lock lock(s.mutex);
  for (std::size_t i = 0; i < s.files.size(); ++i) {
    File* const file = s.files[i];
    if (!file->busy() || !wanted(*file)) continue;
    s.pinned.push_back(file);
    lock.unlock();
    if (file->poll()) advanced = true;
    lock.lock();
    s.pinned.erase(std::find(s.pinned.begin(), s.pinned.end(), file));
    s.unpinned.notify_all();
  }
  return advanced;
}

bool Progress::poll() {
  return poll_files([](File&) { return true; });
}

bool Progress::busy() const {
  const std::lock_guard lock(state().mutex);
  for (const File* file : state().files)
    if (file->busy()) return true;
  return false;
}

void Progress::wait(const std::function<bool()>& done, File* file) {
  Bell& bell = file->room().arena->bell(file->hood().local());
  const bool crowded = file->hood().crowded();
  int looks = 0;
  while (true) {
    const auto seen = bell.rung.load(std::memory_order_seq_cst);
    if (done()) return;
    // The call waited for first; every other file is looked at less often.
    if (file->poll() || (looks % 16 == 15 && poll())) {
      looks = 0;
      continue;
    }
    if (done()) return;
    if (++looks < (crowded ? looks_crowded : looks_alone)) {
      if (crowded)
        sched_yield();
      else
        __builtin_ia32_pause();
      continue;
    }
    std::size_t open_files = 0;
    {
      const std::lock_guard lock(state().mutex);
      for (const File* one : state().files) open_files += one->active() ? 1 : 0;
    }
    attend_to_messages(*file);
    const bool alone = !needs_mpi(*file) && open_files <= 1 && !has_thread();
    sleep_on(bell, seen, alone ? long_sleep_s : short_sleep_s);
  }
}

void Progress::call_started(File& file) {
  const auto& wish = file.settings().progress;
  if (wish == "poll") return;
  if (needs_mpi(file) && !mpi_allows_threads()) return;
  const std::lock_guard lock(state().mutex);
  if (!has_thread_.exchange(true)) {
    state().stopping = false;
    // The program's signals are the program's: our thread takes none.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    state().thread = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }
  state().work.notify_one();
}

void Progress::stop() {
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
  const bool threads = mpi_allows_threads();
  const auto ours = [threads](File& file) { return threads || !needs_mpi(file); };
  auto& s = state();
  while (true) {
    File* first = nullptr;
    std::uint32_t seen = 0;
    std::size_t open_files = 0;
    {
      std::unique_lock lock(s.mutex);
      const auto find = [&] {
        first = nullptr;
        for (File* file : s.files)
          if (first == nullptr && file->busy() && ours(*file)) first = file;
        return first != nullptr || s.stopping;
      };
      s.work.wait(lock, find);
      if (s.stopping) return;
      open_files = s.files.size();
      s.pinned.push_back(first);  // while we listen to its bell
    }
    Bell& bell = first->room().arena->bell(first->hood().local());
    seen = bell.rung.load(std::memory_order_seq_cst);
    if (poll_files(ours))
      ring(bell);  // the program may be asleep on it
    else
      sleep_on(bell, seen, needs_mpi(*first) || open_files > 1 ? 200e-6 : 2e-3);
    const std::lock_guard lock(s.mutex);
    s.pinned.erase(std::find(s.pinned.begin(), s.pinned.end(), first));
    s.unpinned.notify_all();
  }
}

}  // namespace choir
