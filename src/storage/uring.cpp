// uring.cpp: list transfers batched through io_uring.
//
// The ring is set up when first used. Short transfers are continued, and a kernel without io_uring
// (or one that forbids it) makes uring_storage() return null, so that the caller uses posix
// instead.
#include <liburing.h>

#include <cerrno>

#include "storage/storage.hpp"

namespace choir {
namespace {

constexpr unsigned ring_entries = 64;
constexpr std::int64_t most_per_request = 0x7ffff000;

/// One request of a job, kept until its completion arrives.
struct Request {
  Job* job;
  Transfer rest;
};

class UringStorage final : public Storage {
 public:
  explicit UringStorage(int fd) : fd_(fd) {}
  ~UringStorage() override {
    if (ready_) io_uring_queue_exit(&ring_);
  }
  UringStorage(const UringStorage&) = delete;
  UringStorage& operator=(const UringStorage&) = delete;

  bool open() {
    ready_ = io_uring_queue_init(ring_entries, &ring_, 0) == 0;
    return ready_;
  }

  bool start(Job& job) override {
    for (const auto& transfer : job.transfers) {
      while (flying_ >= static_cast<int>(ring_entries)) reap(true);
      if (job.error != 0) break;
      if (transfer.length == 0) continue;  // would look like the end of the file
      submit(new Request{&job, transfer});
    }
    io_uring_submit(&ring_);
    return poll(job);
  }

  bool poll(Job& job) override {
    reap(false);
    return job.in_flight == 0;
  }

  std::string_view name() const override { return "io_uring"; }

 private:
  void submit(Request* request) {
    auto* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
      io_uring_submit(&ring_);
      entry = io_uring_get_sqe(&ring_);
    }
    if (entry == nullptr) {  // a full queue right after a submit: the ring is broken
      fail(request, EIO);
      return;
    }
    const auto size = static_cast<unsigned>(std::min(request->rest.length, most_per_request));
    const auto offset = static_cast<std::uint64_t>(request->rest.offset);
    if (request->job->operation == Operation::read)
      io_uring_prep_read(entry, fd_, request->rest.data, size, offset);
    else
      io_uring_prep_write(entry, fd_, request->rest.data, size, offset);
    io_uring_sqe_set_data(entry, request);
    ++request->job->in_flight;
    ++request->job->requests;
    ++flying_;
  }

  static void fail(Request* request, int error) {
    if (request->job->error == 0) request->job->error = error;
    delete request;
  }

  void reap(bool wait) {
    io_uring_cqe* done = nullptr;
    if (wait && io_uring_submit_and_wait(&ring_, 1) < 0) return;
    if (io_uring_sq_ready(&ring_) > 0)
      io_uring_submit(&ring_);  // what an earlier submit could not take
    while (io_uring_peek_cqe(&ring_, &done) == 0 && done != nullptr) {
      auto* request = static_cast<Request*>(io_uring_cqe_get_data(done));
      const int moved = done->res;
      io_uring_cqe_seen(&ring_, done);
      --flying_;
      --request->job->in_flight;
      finish(request, moved);
    }
  }

  void finish(Request* request, int moved) {
    auto& job = *request->job;
    if (moved == -EINTR || moved == -EAGAIN)
      moved = 0;
    else if (moved < 0)
      return fail(request, -moved);
    else if (moved == 0) {
      if (job.operation == Operation::write) return fail(request, ENOSPC);
      job.end_of_file = std::min(job.end_of_file, request->rest.offset);
      delete request;
      return;
    }
    job.bytes += moved;
    request->rest.offset += moved;
    request->rest.data += moved;
    request->rest.length -= moved;
    if (request->rest.length == 0) {
      delete request;
      return;
    }
    submit(request);
    io_uring_submit(&ring_);
  }

  int fd_;
  io_uring ring_{};
  bool ready_ = false;
  int flying_ = 0;
};

}  // namespace

std::unique_ptr<Storage> uring_storage(int fd) {
  auto storage = std::make_unique<UringStorage>(fd);
  if (!storage->open()) return nullptr;
  return storage;
}

bool uring_works() {
  io_uring ring{};
  if (io_uring_queue_init(2, &ring, 0) != 0) return false;
  io_uring_queue_exit(&ring);
  return true;
}

}  // namespace choir
