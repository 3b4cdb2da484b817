// joiner.hpp: nonblocking calls on several files, joined into one without a change of the program.
//
// A call that may be joined waits in its file's queue and is counted here. When the program waits
// for anything (or, where a thread advances calls, when no further call has come for a moment), the
// ranks meet in a muster: each tells how many calls it has made on each file. What all of them have
// made is started, as few joint calls (multi/joined.hpp); the rest waits for the next muster. So
// what is joined is the same on all ranks, whatever order and speed they have, and no call is ever
// started that a rank has not made: a joint call waits for nobody that may be waiting for it.
//
// One per neighbourhood, shared by its files. Thread safe.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/muster.hpp"

namespace choir {

class Call;

class Joiner {
 public:
  /// Collective: the one of this neighbourhood. Null on all ranks if there is no memory for it.
  static std::shared_ptr<Joiner> of(const std::shared_ptr<Neighbourhood>& hood);
  explicit Joiner(std::shared_ptr<Neighbourhood> hood);
  /// Collective, as closing files is.
  ~Joiner();

  /// Collective, in the order of opens and closes: a number for a file, -1 if there is none left.
  int enlist();
  void leave(int number);

  /// A call of file `number`, which is in the file's queue and waits there. `patient`: there is a
  /// thread that begins when no further call has come for a moment; otherwise the next poll does.
  void hold(int number, std::shared_ptr<Call> call, bool apart, bool patient);
  /// The program waits: nothing is worth holding any longer.
  void hurry() { due_ns_.store(0, std::memory_order_relaxed); }
  /// Calls of any rank's files are held in this process.
  static bool any_held() { return held_anywhere_.load(std::memory_order_relaxed) > 0; }
  /// Advances without waiting, and carries out nothing; true if anything happened.
  bool poll();
  /// What rings when the muster under way is complete; null if there is none.
  Bell* bell();

 private:
  struct Held {
    std::shared_ptr<Call> call;
    bool apart;
  };
  struct Queue {
    std::int64_t started = 0;  ///< calls that left
    std::deque<Held> calls;
  };

  bool worth_a_muster();
  void start_common(const CallCounts& least);

  inline static std::atomic<int> held_anywhere_{0};

  std::shared_ptr<Neighbourhood> hood_;
  std::unique_ptr<Room> room_;
  std::array<bool, muster_files> taken_{};

  std::mutex mutex_;  ///< of what follows
  std::map<int, Queue> queues_;
  CallCounts made_{};
  bool news_ = false;               ///< calls were made since the last muster
  std::int64_t first_held_ns_ = 0;  ///< of those
  std::int64_t again_ns_ = 0;       ///< without news, the next muster is not before

  std::atomic<int> held_{0};
  std::atomic<std::int64_t> due_ns_{0};
  std::atomic_flag polling_;  ///< a thread that polls may come back in, so no mutex
  std::atomic<bool> meeting_{false};
  std::optional<Muster> muster_;
};

}  // namespace choir
