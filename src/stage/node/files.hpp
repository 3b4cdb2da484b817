// files.hpp: the keeper's disk: descriptors, and threads that write to them.
//
// A request that is one block is written from where it lies in the hold. One of many runs is first
// put together in a buffer, so that the file sees what is adjacent as one write; each thread has
// one buffer of a request's size, and there is no other memory for bytes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "stage/core/keeper.hpp"
#include "stage/node/hold.hpp"
#include "storage/device.hpp"

namespace choir::stage {

class Files : public Disk {
 public:
  /// `wake` is called from a thread when a request has ended.
  explicit Files(std::function<void()> wake, int threads = 2, Device& device = system_device());
  ~Files() override;

  /// Requests of this open go to `fd`, which is closed with the open's last request.
  void add(std::uint64_t open, Descriptor fd);

  struct Ended {
    std::uint64_t number = 0;
    int error = 0;
  };
  /// Requests that have ended since the last question.
  std::vector<Ended> take_ended();
  /// Ranks to whom something was told since the last question.
  std::set<int> take_told() { return std::exchange(told_, {}); }
  /// Opens that have failed so far, with the errno.
  const std::map<std::uint64_t, int>& failures() const { return failures_; }

  void start(std::uint64_t number, const Request& request) override;
  std::int64_t size(std::uint64_t open) override;
  void note_failure(std::uint64_t open, int error) override { failures_[open] = error; }
  void note_told(int rank) override { told_.insert(rank); }

 private:
  struct Task {
    std::uint64_t number;
    Request request;
    int fd;
  };
  void work();
  int carry_out(const Task& task, std::vector<char>& buffer);
  int write(int fd, const Window& window, std::vector<char>& buffer);
  int close(std::uint64_t open);

  std::function<void()> wake_;
  Device& device_;
  std::map<std::uint64_t, int> failures_;
  std::set<int> told_;

  std::mutex mutex_;  // what is below
  std::condition_variable changed_;
  std::map<std::uint64_t, Descriptor> descriptors_;
  std::deque<Task> tasks_;
  std::vector<Ended> ended_;
  bool over_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace choir::stage
