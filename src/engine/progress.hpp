// progress.hpp: who advances the calls under way.
//
// A blocking call is advanced by the rank that waits in it. A nonblocking one by a progress thread
// where that can be: always on one node (shared memory and storage need no MPI), and across nodes
// where the MPI runs thread-multiple. The thread sleeps while no nonblocking call is under way, and
// on a bell while its calls wait for others. All other nonblocking calls are advanced by the
// program's own MPI calls: by those choir sees, and by all that wait where the MPI library lets us
// into its waiting.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "engine/file.hpp"

namespace choir {

class Progress {
 public:
  static Progress& instance();

  void add(File* file);
  /// The file has no calls under way any more, and gets no new ones.
  void remove(File* file);

  /// Advances every open file; true if anything happened. May take as long as a disk.
  bool poll();
  /// The program asks for something: calls that wait to be joined wait no longer.
  void hurry();
  /// Advances the files whose nonblocking calls have no thread.
  bool poll_unserved();
  /// Calls under way in any file.
  bool busy() const;
  /// Nonblocking calls are under way that only the program's own MPI calls advance.
  bool program_needed() const { return unserved_.load(std::memory_order_relaxed) > 0; }

  /// Waits until `done` says so, advancing everything meanwhile. `listen_to` has the bell to sleep
  /// on.
  void wait(const std::function<bool()>& done, File* listen_to);

  /// Whether nonblocking calls on `file` are advanced by the thread.
  bool thread_serves(File& file) const;
  /// A nonblocking call was started on `file`: makes sure somebody advances it.
  void call_started(File& file, std::shared_ptr<Call> call);
  /// Ends the thread and leaves the host's waiting. Local; before MPI_Finalize.
  void stop();

 private:
  Progress() = default;
  void run();
  bool poll_file(std::size_t index, std::unique_lock<std::mutex>& lock);
  bool advance(File& file);
  /// Nonblocking calls are under way that the thread advances.
  bool thread_at_work() const;
  template <class Wanted>
  bool poll_files(Wanted&& wanted);
  void start_thread();
  static int advance_inside_host() noexcept;

  struct State;
  State& state() const;
  std::atomic<bool> has_thread_{false};
  std::atomic<bool> in_host_{false};  ///< the host calls us while it waits, if it can
  std::atomic<int> unserved_{0};      ///< nonblocking calls under way that no thread advances
};

}  // namespace choir
