// threaded.cpp: jobs carried out by threads beside the rank, in the order they come.
//
// Where storage is slow a rank that waits for it in a system call can neither send nor take in
// anything. Two threads per process, shared by its files, wait in its place: while the storage
// works on one request the next is already there, and it need not be idle until a thread has been
// told and has come back. Requests are still begun one after the other, so that data servers see
// the order the plan has made.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include "storage/storage.hpp"

namespace choir {
namespace {

/// What top and gdb show; at most 15 letters.
constexpr const char* thread_name = "choir-storage";

constexpr int requests_at_once = 2;

using Clock = std::chrono::steady_clock;

/// The system calls of one file; each thread has its own.
using Hands = std::array<std::unique_ptr<Storage>, requests_at_once>;

struct Order {
  const void* owner;  ///< the storage it belongs to
  const Hands* hands;
  Job* job;
  const std::function<void()>* when_done;
  std::size_t waiting;  ///< transfers nobody has begun
  int under_way = 0;    ///< requests
  Clock::time_point started = {};

  bool done() const { return waiting == 0 && under_way == 0; }
};

class StorageThreads {
 public:
  /// The process's own, started when first asked for. Throws std::system_error if there can be
  /// none.
  static std::shared_ptr<StorageThreads> shared() {
    static std::mutex mutex;
    static std::weak_ptr<StorageThreads> existing;
    const std::lock_guard lock(mutex);
    auto threads = existing.lock();
    if (!threads) existing = threads = std::make_shared<StorageThreads>();
    return threads;
  }

  StorageThreads() {
    // The program's signals are the program's: our threads take none.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    try {
      for (std::size_t i = 0; i < requests_at_once; ++i) {
        threads_.emplace_back([this, i] { run(i); });
        pthread_setname_np(threads_.back().native_handle(), thread_name);
      }
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &old, nullptr);
      stop();
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }

  ~StorageThreads() {
    if (getpid() == process_)
      stop();
    else  // a forked child has the object, but not the threads
      for (auto& thread : threads_) thread.detach();
  }

  StorageThreads(const StorageThreads&) = delete;
  StorageThreads& operator=(const StorageThreads&) = delete;

  void add(const Order& order) {
    {
      const std::lock_guard lock(mutex_);
      orders_.push_back(order);
    }
    work_.notify_one();
  }

  /// Waits until nothing of `owner` is under way: then what its orders refer to may go.
  void leave(const void* owner) {
    if (getpid() != process_) return;
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] {
      return std::none_of(orders_.begin(), orders_.end(),
                          [&](const Order& order) { return order.owner == owner; });
    });
  }

 private:
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  std::list<Order>::iterator first_waiting() {
    return std::find_if(orders_.begin(), orders_.end(),
                        [](const Order& order) { return order.waiting > 0; });
  }

  void run(std::size_t thread) {
    Job request;
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [&] { return first_waiting() != orders_.end() || stopping_; });
      const auto order = first_waiting();
      if (order == orders_.end()) return;
      take_request(*order, request);
      // Waking another thread takes longer than entering the kernel: requests stay in order.
      if (first_waiting() != orders_.end()) work_.notify_one();
      lock.unlock();
      (*order->hands)[thread]->run(request);
      lock.lock();
      take_in(*order, request);
      if (!order->done()) continue;
      lock.unlock();
      announce(*order);
      lock.lock();
      orders_.erase(order);
      idle_.notify_all();
    }
  }

  /// The next transfers that continue each other: one system call.
  static void take_request(Order& order, Job& request) {
    const auto& transfers = order.job->transfers;
    if (order.waiting == transfers.size()) order.started = Clock::now();
    ++order.under_way;
    request = Job{.operation = order.job->operation, .transfers = std::move(request.transfers)};
    request.transfers.clear();
    do {
      request.transfers.push_back(transfers[transfers.size() - order.waiting]);
      --order.waiting;
    } while (order.waiting > 0 &&
             continues(transfers[transfers.size() - order.waiting], request.transfers.back()));
  }

  static bool continues(const Transfer& next, const Transfer& last) {
    return next.offset == last.offset + last.length;
  }

  static void take_in(Order& order, const Job& request) {
    auto& job = *order.job;
    --order.under_way;
    job.requests += request.requests;
    job.bytes += request.bytes;
    job.end_of_file = std::min(job.end_of_file, request.end_of_file);
    if (request.error == 0) return;
    if (job.error == 0) job.error = request.error;
    order.waiting = 0;  // what follows a failure is left alone
  }

  static void announce(const Order& order) {
    order.job->beside_ns = std::chrono::nanoseconds(Clock::now() - order.started).count();
    // From here on the job may be gone.
    std::atomic_ref(order.job->in_flight).store(0, std::memory_order_release);
    (*order.when_done)();
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable work_, idle_;
  std::list<Order> orders_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

class ThreadedStorage final : public Storage {
 public:
  ThreadedStorage(int fd, Device& device, std::function<void()> when_done)
      : here_(posix_storage(fd, device)),
        when_done_(std::move(when_done)),
        threads_(StorageThreads::shared()) {
    for (auto& hand : beside_) hand = posix_storage(fd, device);
  }
  ~ThreadedStorage() override { threads_->leave(this); }

  bool start(Job& job) override {
    if (job.transfers.empty()) return true;
    job.in_flight = 1;
    threads_->add({this, &beside_, &job, &when_done_, job.transfers.size()});
    return false;
  }
  bool start_here(Job& job) override { return here_->start(job); }
  bool poll(Job& job) override {
    return std::atomic_ref(job.in_flight).load(std::memory_order_acquire) == 0;
  }
  std::string_view name() const override { return "threaded"; }

 private:
  Hands beside_;
  std::unique_ptr<Storage> here_;
  std::function<void()> when_done_;
  std::shared_ptr<StorageThreads> threads_;
};

}  // namespace

std::unique_ptr<Storage> threaded_storage(int fd, Device& device, std::function<void()> when_done) {
  try {
    return std::make_unique<ThreadedStorage>(fd, device, std::move(when_done));
  } catch (const std::system_error&) {
    return nullptr;
  }
}

}  // namespace choir
