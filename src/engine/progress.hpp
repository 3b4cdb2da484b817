// progress.hpp: who advances the calls under way.
//
// Every waiting or testing MPI call that choir sees advances all open files. Besides, a progress
// thread can: always on one node (shared memory and storage need no MPI), and across nodes where
// the MPI runs thread-multiple. The thread sleeps while nothing is under way, and on a bell while
// its calls wait for others.
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

  /// Advances every open file; true if anything happened.
  bool poll();
  /// Calls under way in any file.
  bool busy() const;

  /// Waits until `done` says so, advancing everything meanwhile. `bell` is the first to listen to.
  void wait(const std::function<bool()>& done, File* listen_to);

  /// A nonblocking call was started on `file`: makes sure somebody advances it.
  void call_started(File& file);
  /// Ends the thread. Local; before MPI_Finalize.
  void stop();
  bool has_thread() const { return has_thread_.load(std::memory_order_relaxed); }

 private:
  Progress() = default;
  void run();
  template <class Wanted>
  bool poll_files(Wanted&& wanted);

  struct State;
  State& state() const;
  std::atomic<bool> has_thread_{false};
};

}  // namespace choir
