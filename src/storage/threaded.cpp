// threaded.cpp: jobs carried out by a thread beside the rank, in the order they come.
//
// Where storage is slow a rank that waits for it in a system call can neither send nor take in
// anything. One thread per process, shared by its files, waits in its place. Requests still go out
// one after the other: data servers see the order the plan has made.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "storage/storage.hpp"

namespace choir {
namespace {

/// What top and gdb show; at most 15 letters.
constexpr const char* thread_name = "choir-storage";

struct Order {
  const void* owner;  ///< the storage it belongs to
  Storage* by;
  Job* job;
  const std::function<void()>* when_done;
};

class StorageThread {
 public:
  /// The process's one, started when first asked for. Throws std::system_error if there can be
  /// none.
  static std::shared_ptr<StorageThread> shared() {
    static std::mutex mutex;
    static std::weak_ptr<StorageThread> existing;
    const std::lock_guard lock(mutex);
    auto thread = existing.lock();
    if (!thread) existing = thread = std::make_shared<StorageThread>();
    return thread;
  }

  StorageThread() {
    // The program's signals are the program's: our thread takes none.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &old, nullptr);
      throw;
    }
    pthread_setname_np(thread_.native_handle(), thread_name);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }

  ~StorageThread() {
    if (getpid() != process_) {  // a forked child has the object, but not the thread
      thread_.detach();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_one();
    thread_.join();
  }

  StorageThread(const StorageThread&) = delete;
  StorageThread& operator=(const StorageThread&) = delete;

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
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [&] { return !orders_.empty() || stopping_; });
      if (orders_.empty()) return;
      const auto order = orders_.front();
      lock.unlock();
      carry_out(order);
      lock.lock();
      orders_.pop_front();
      idle_.notify_all();
    }
  }

  static void carry_out(const Order& order) {
    const auto started = std::chrono::steady_clock::now();
    order.by->run(*order.job);
    order.job->beside_ns =
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - started).count();
    // From here on the job may be gone.
    std::atomic_ref(order.job->in_flight).store(0, std::memory_order_release);
    (*order.when_done)();
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable work_, idle_;
  std::deque<Order> orders_;  ///< the first is being carried out
  bool stopping_ = false;
  std::thread thread_;
};

class ThreadedStorage final : public Storage {
 public:
  ThreadedStorage(int fd, Device& device, std::function<void()> when_done)
      : beside_(posix_storage(fd, device)),
        here_(posix_storage(fd, device)),
        when_done_(std::move(when_done)),
        thread_(StorageThread::shared()) {}
  ~ThreadedStorage() override { thread_->leave(this); }

  bool start(Job& job) override {
    if (job.transfers.empty()) return true;
    job.in_flight = 1;
    thread_->add({this, beside_.get(), &job, &when_done_});
    return false;
  }
  bool start_here(Job& job) override { return here_->start(job); }
  bool poll(Job& job) override {
    return std::atomic_ref(job.in_flight).load(std::memory_order_acquire) == 0;
  }
  std::string_view name() const override { return "threaded"; }

 private:
  std::unique_ptr<Storage> beside_, here_;
  std::function<void()> when_done_;
  std::shared_ptr<StorageThread> thread_;
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
