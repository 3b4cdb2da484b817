#include "engine/joiner.hpp"

#include <algorithm>
#include <vector>

#include "engine/call.hpp"
#include "engine/joint_call.hpp"
#include "mpi/error.hpp"
#include "multi/joined.hpp"

namespace choir {
namespace {

/// How long a thread waits for a further call, and how long at most.
constexpr std::int64_t quiet_ns = 1'000'000;
constexpr std::int64_t longest_hold_ns = 10'000'000;
/// Between two musters to which this rank brings nothing new. On one node it sees others arrive.
constexpr std::int64_t without_news_ns = 500'000;

}  // namespace

std::shared_ptr<Joiner> Joiner::of(const std::shared_ptr<Neighbourhood>& hood) {
  auto joiner = hood->joiner().lock();
  if (joiner) return joiner;
  try {
    joiner = std::make_shared<Joiner>(hood);
    hood->joiner() = joiner;
  } catch (const MpiError&) {
    // Calls are carried out one by one.
  }
  return joiner;
}

Joiner::Joiner(std::shared_ptr<Neighbourhood> hood)
    : hood_(std::move(hood)), room_(take_muster_room(*hood_)) {}

Joiner::~Joiner() { hood_->give_back(std::move(room_)); }

int Joiner::enlist() {
  const auto free = std::find(taken_.begin(), taken_.end(), false);
  if (free == taken_.end()) return -1;
  *free = true;
  return static_cast<int>(free - taken_.begin());
}

/// The counts stay: the next file with this number goes on counting where all ranks left off.
void Joiner::leave(int number) { taken_[static_cast<std::size_t>(number)] = false; }

void Joiner::hold(int number, std::shared_ptr<Call> call, bool apart, bool patient) {
  const auto now = now_ns();
  const std::lock_guard lock(mutex_);
  ++made_[static_cast<std::size_t>(number)];
  queues_[number].calls.push_back({std::move(call), apart});
  held_.fetch_add(1, std::memory_order_release);
  held_anywhere_.fetch_add(1, std::memory_order_relaxed);
  if (!news_) first_held_ns_ = now;
  news_ = true;
  due_ns_ = patient ? std::min(now + quiet_ns, first_held_ns_ + longest_hold_ns) : 0;
}

/// A rank that waits goes to every muster that can bring it something: it has made calls since the
/// last one, or another rank may have.
bool Joiner::worth_a_muster() {
  const auto now = now_ns();
  if (held_.load(std::memory_order_acquire) == 0 || now < due_ns_.load(std::memory_order_relaxed))
    return false;
  const std::lock_guard lock(mutex_);
  return news_ || muster_called(*hood_, *room_) || (!hood_->one_node() && now >= again_ns_);
}

bool Joiner::poll() {
  if (held_.load(std::memory_order_acquire) == 0 && !meeting_.load(std::memory_order_acquire))
    return false;
  if (polling_.test_and_set(std::memory_order_acquire)) return false;
  struct Release {
    std::atomic_flag& flag;
    ~Release() { flag.clear(std::memory_order_release); }
  } release{polling_};
  bool advanced = false;
  if (!muster_) {
    if (!worth_a_muster()) return false;
    const std::lock_guard lock(mutex_);
    news_ = false;
    muster_.emplace(*hood_, *room_, made_);
    meeting_ = true;
    advanced = true;
  }
  if (!muster_->poll()) return advanced;
  const auto least = muster_->least();
  muster_.reset();
  meeting_ = false;
  start_common(least);
  return true;
}

Bell* Joiner::bell() {
  return meeting_.load(std::memory_order_acquire) ? &room_->arena->bell(hood_->local()) : nullptr;
}

/// Starts what every rank has made.
void Joiner::start_common(const CallCounts& least) {
  std::vector<std::shared_ptr<Call>> calls;
  std::vector<multi::HeldCall> described;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [number, queue] : queues_)
      for (; queue.started < least[static_cast<std::size_t>(number)]; ++queue.started) {
        auto& first = queue.calls.front();
        const bool writing = first.call->request().operation == Operation::write;
        described.push_back({number, writing, first.apart});
        calls.push_back(std::move(first.call));
        queue.calls.pop_front();
      }
    again_ns_ = now_ns() + without_news_ns;
    held_.fetch_sub(static_cast<int>(calls.size()), std::memory_order_relaxed);
  }
  held_anywhere_.fetch_sub(static_cast<int>(calls.size()), std::memory_order_relaxed);
  for (const auto& group : multi::join_calls(described)) {
    std::vector<std::shared_ptr<Call>> together;
    together.reserve(group.size());
    for (const auto index : group) together.push_back(std::move(calls[index]));
    JointCall::join(std::move(together));
  }
}

}  // namespace choir
