// storage_test.cpp: list transfers on real files and on devices that misbehave.
#include "storage/storage.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace choir {
namespace {

std::int64_t pick(std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high); }

/// An open file that disappears with the object.
class TempFile {
 public:
  TempFile() {
    auto path = testing::TempDir() + "/choir-storage-XXXXXX";
    fd_ = mkstemp(path.data());
    if (fd_ < 0 || unlink(path.c_str()) != 0)
      throw std::runtime_error("no temporary file: " + path);
  }
  ~TempFile() { close(fd_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  int fd() const { return fd_; }
  std::string content() const {
    std::string text(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    if (::pread(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      throw std::runtime_error("cannot read the temporary file back");
    return text;
  }
  void set(const std::string& text) const {
    if (::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      throw std::runtime_error("cannot fill the temporary file");
  }

 private:
  int fd_ = -1;
};

std::string letters(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 26) % 26);
  return text;
}

/// Pieces of `memory` for ascending places of a file; many of them continue each other.
std::vector<Transfer> any_transfers(std::string& memory) {
  std::vector<Transfer> transfers;
  std::int64_t offset = pick(0, 100), used = 0;
  for (auto n = pick(0, 12); n > 0; --n) {
    const auto length = pick(1, 60);
    if (used + length > static_cast<std::int64_t>(memory.size())) break;
    transfers.push_back({offset, memory.data() + used, length});
    offset += length + (pick(0, 2) == 0 ? 0 : pick(0, 40));
    used += length;
  }
  return transfers;
}

int carry_out(Storage& storage, Job& job) {
  if (!storage.start(job))
    while (!storage.poll(job)) std::this_thread::yield();
  return job.error;
}

/// Writes a random list and reads it back; what the file then holds is known byte by byte.
void check_round_trip(Storage& storage, const TempFile& file) {
  const auto before = std::string(1000, '.');
  file.set(before);
  auto memory = letters(800);
  Job write{Operation::write, any_transfers(memory)};
  auto expected = before;
  for (const auto& t : write.transfers)
    std::memcpy(expected.data() + t.offset, t.data, static_cast<std::size_t>(t.length));
  RC_ASSERT(carry_out(storage, write) == 0);
  RC_ASSERT(file.content() == expected);

  std::string back(800, '?');
  Job read{Operation::read, write.transfers};
  for (auto& t : read.transfers) t.data = back.data() + (t.data - memory.data());
  RC_ASSERT(carry_out(storage, read) == 0);
  RC_ASSERT(read.end_of_file == no_end_of_file);
  std::size_t used = 0;
  for (const auto& t : read.transfers) used += static_cast<std::size_t>(t.length);
  RC_ASSERT(back == memory.substr(0, used) + std::string(800 - used, '?'));
}

RC_GTEST_PROP(PosixProperty, ListsAreWrittenAndReadBack, ()) {
  const TempFile file;
  check_round_trip(*posix_storage(file.fd(), system_device()), file);
}

RC_GTEST_PROP(PosixProperty, ShortAndInterruptedTransfersAreContinued, ()) {
  const TempFile file;
  Fault fault;
  fault.short_bytes = pick(1, 50);
  fault.interrupt = *rc::gen::arbitrary<bool>();
  const auto device = faulty_device(system_device(), fault);
  check_round_trip(*posix_storage(file.fd(), *device), file);
}

/// Several lists under way at once on two files: each is done once it says so, errors included.
RC_GTEST_PROP(ThreadedProperty, ListsUnderWayTogetherAreAllCarriedOut, ()) {
  const TempFile good, full;
  Fault fault;
  fault.error = ENOSPC;
  fault.operation = Fault::Operation::write;
  const auto device = faulty_device(system_device(), fault);
  std::atomic<int> told{0};
  const auto tell = [&] { ++told; };
  auto memory = letters(1000);
  int started = 0;
  {
    const auto storage = threaded_storage(good.fd(), system_device(), tell);
    const auto failing = threaded_storage(full.fd(), *device, tell);
    RC_ASSERT(storage != nullptr);
    RC_ASSERT(failing != nullptr);
    std::array<Job, 10> jobs;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].operation = Operation::write;
      const auto at = static_cast<std::int64_t>(100 * i);
      jobs[i].transfers = {{at, memory.data() + at, 60}, {at + 60, memory.data() + at + 60, 40}};
      if (!(i % 3 == 2 ? *failing : *storage).start(jobs[i])) ++started;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      while (!storage->poll(jobs[i])) std::this_thread::yield();
      RC_ASSERT(jobs[i].error == (i % 3 == 2 ? ENOSPC : 0));
    }
  }
  RC_ASSERT(told == started);  // nobody tells after the storage is gone
  const auto content = good.content();
  for (std::size_t i = 0; i < 10; ++i)
    if (i % 3 != 2) RC_ASSERT(content.substr(100 * i, 100) == memory.substr(100 * i, 100));
  RC_ASSERT(full.content().empty());
}

RC_GTEST_PROP(ThreadedProperty, ListsAreWrittenAndReadBack, ()) {
  const TempFile file;
  check_round_trip(*threaded_storage(file.fd(), system_device(), [] {}), file);
}

/// Says where requests begin, and keeps each of them until another one is there too.
class PairingDevice final : public Device {
 public:
  ssize_t pread(int, void*, std::size_t, off_t) override { return -1; }
  ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset) override {
    std::unique_lock lock(mutex_);
    begun_.push_back(offset);
    came_.notify_all();
    const auto paired = (begun_.size() + 1) / 2 * 2;
    came_.wait_for(lock, patience, [&] { return begun_.size() >= paired; });
    return ::pwrite(fd, data, size, offset);
  }
  ssize_t preadv(int, const iovec*, int, off_t) override { return -1; }
  ssize_t pwritev(int, const iovec*, int, off_t) override { return -1; }

  std::vector<off_t> begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  static constexpr auto patience = std::chrono::seconds(10);
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<off_t> begun_;
};

TEST(Threaded, TheNextRequestIsThereWhileOneIsUnderWay) {
  const TempFile file;
  PairingDevice device;
  const auto storage = threaded_storage(file.fd(), device, [] {});
  auto memory = letters(100);
  Job first{Operation::write, {}}, second{Operation::write, {}};
  for (int i = 0; i < 5; ++i) {
    first.transfers.push_back({i * 20, memory.data() + i * 10, 10});
    second.transfers.push_back({200 + i * 20, memory.data() + 50 + i * 10, 10});
  }
  const auto started = std::chrono::steady_clock::now();
  ASSERT_FALSE(storage->start(first));
  ASSERT_FALSE(storage->start(second));
  storage->await(first);
  storage->await(second);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
  EXPECT_EQ(first.error, 0);
  EXPECT_EQ(second.error, 0);
  EXPECT_EQ(first.requests + second.requests, 10);
  // Two that are under way at once may change places on their way, no others.
  const auto begun = device.begun();
  ASSERT_EQ(begun.size(), 10U);
  for (std::size_t i = 0; i + 2 < begun.size(); ++i) EXPECT_LT(begun[i], begun[i + 2]) << i;
}

TEST(Threaded, WhatFollowsAFailureIsLeftAlone) {
  const TempFile file;
  const auto device = faulty_device(system_device(), parse_fault("op=write,after=3,error=ENOSPC"));
  const auto storage = threaded_storage(file.fd(), *device, [] {});
  auto memory = letters(100);
  Job job{Operation::write, {}};
  for (int i = 0; i < 10; ++i) job.transfers.push_back({i * 20, memory.data() + i * 10, 10});
  ASSERT_FALSE(storage->start(job));
  storage->await(job);
  EXPECT_EQ(job.error, ENOSPC);
  EXPECT_LE(job.requests, 5);  // the failed one, and one that was under way beside it
}

RC_GTEST_PROP(UringProperty, ListsAreWrittenAndReadBack, ()) {
  if (!uring_works()) return;  // the Uring tests below say so, visibly
  const TempFile file;
  const auto storage = uring_storage(file.fd());
  RC_ASSERT(storage != nullptr);
  check_round_trip(*storage, file);
}

TEST(Uring, MoreRequestsThanTheRingHolds) {
  if (!uring_works()) GTEST_SKIP() << "this kernel refuses io_uring";
  const TempFile file;
  auto storage = uring_storage(file.fd());
  ASSERT_NE(storage, nullptr);
  EXPECT_EQ(storage->name(), "io_uring");
  auto memory = letters(5000);
  Job job{Operation::write, {}};
  for (int i = 0; i < 1000; ++i) job.transfers.push_back({i * 10, memory.data() + i * 5, 5});
  ASSERT_EQ(storage->run(job), 0);
  const auto content = file.content();
  for (std::size_t i = 0; i < 1000; ++i)
    ASSERT_EQ(content.substr(i * 10, 5), memory.substr(i * 5, 5)) << i;
}

TEST(Uring, ErrorsAndTheEndOfTheFileAreTheSameAsOfPosix) {
  if (!uring_works()) GTEST_SKIP() << "this kernel refuses io_uring";
  const TempFile file;
  file.set(letters(100));
  std::string memory(300, '?');
  for (auto& storage : {uring_storage(file.fd()), posix_storage(file.fd(), system_device())}) {
    Job job{Operation::read, {{90, memory.data(), 50}, {200, memory.data() + 50, 10}}};
    EXPECT_EQ(storage->run(job), 0);
    EXPECT_EQ(job.end_of_file, 100);
  }
  const int read_only = open("/dev/null", O_RDONLY);
  ASSERT_GE(read_only, 0);
  for (auto& storage : {uring_storage(read_only), posix_storage(read_only, system_device())}) {
    Job job{Operation::write, {{0, memory.data(), 10}}};
    EXPECT_EQ(storage->run(job), EBADF);
  }
  close(read_only);
}

TEST(Uring, ShortTransfersAreContinued) {
  if (!uring_works()) GTEST_SKIP() << "this kernel refuses io_uring";
  // The kernel hands out its tables a page at a time.
  const int table = open("/proc/kallsyms", O_RDONLY);
  std::string once(64 * 1024, '?'), whole(64 * 1024, '?');
  const auto first = table < 0 ? 0 : ::pread(table, once.data(), once.size(), 0);
  Job expected{Operation::read, {{0, once.data(), static_cast<std::int64_t>(once.size())}}};
  Job job{Operation::read, {{0, whole.data(), static_cast<std::int64_t>(whole.size())}}};
  const int error = table < 0 ? ENOENT : posix_storage(table, system_device())->run(expected);
  if (first <= 0 || first == static_cast<ssize_t>(once.size()) || error != 0) {
    close(table);
    GTEST_SKIP() << "no file here that is read in short pieces";
  }
  EXPECT_EQ(uring_storage(table)->run(job), 0);
  EXPECT_EQ(whole, once);
  EXPECT_EQ(job.end_of_file, expected.end_of_file);
  close(table);
}

TEST(Posix, ReadingPastTheEndSaysWhereItWasAndLeavesTheRestAlone) {
  const TempFile file;
  file.set(letters(100));
  std::string memory(60, '?');
  Job job{Operation::read, {{80, memory.data(), 60}}};
  EXPECT_EQ(posix_storage(file.fd(), system_device())->run(job), 0);
  EXPECT_EQ(job.end_of_file, 100);
  EXPECT_EQ(memory, letters(100).substr(80) + std::string(40, '?'));
}

TEST(Posix, TheNthRequestFailsAndThoseBeforeItAreDone) {
  const TempFile file;
  const auto device = faulty_device(system_device(), parse_fault("op=write,after=3,error=ENOSPC"));
  const auto storage = posix_storage(file.fd(), *device);
  auto memory = letters(60);
  Job job{Operation::write, {}};
  for (int i = 0; i < 6; ++i) job.transfers.push_back({i * 20, memory.data() + i * 10, 10});
  EXPECT_EQ(storage->run(job), ENOSPC);
  EXPECT_EQ(file.content().size(), 50U) << "three requests of ten bytes, twenty apart";
  Job read{Operation::read, {{0, memory.data(), 10}}};
  EXPECT_EQ(storage->run(read), 0) << "only writes fail";
}

TEST(Posix, TheSystemsOwnErrorIsTheJobsError) {
  const TempFile file;
  std::string memory(10, 'x');
  Job job{Operation::write, {{0, memory.data(), 10}}};
  EXPECT_EQ(posix_storage(-1, system_device())->run(job), EBADF);
}

/// Counts requests and checks that data and offset move together; touches no memory.
class CountingDevice final : public Device {
 public:
  struct Request {
    std::int64_t offset, bytes;
    int parts;
  };
  std::vector<Request> requests;
  char* base = nullptr;

  ssize_t pread(int, void* data, std::size_t size, off_t offset) override {
    return take(data, size, offset, 1);
  }
  ssize_t pwrite(int, const void* data, std::size_t size, off_t offset) override {
    return take(data, size, offset, 1);
  }
  ssize_t preadv(int, const iovec* parts, int count, off_t offset) override {
    return list(parts, count, offset);
  }
  ssize_t pwritev(int, const iovec* parts, int count, off_t offset) override {
    return list(parts, count, offset);
  }

 private:
  ssize_t list(const iovec* parts, int count, off_t offset) {
    std::size_t size = 0;
    for (int i = 0; i < count; ++i) size += parts[i].iov_len;
    return take(parts[0].iov_base, size, offset, count);
  }
  ssize_t take(const void* data, std::size_t size, off_t offset, int parts) {
    EXPECT_EQ(static_cast<const char*>(data) - base, offset);
    // The kernel moves no more at once, whatever it is asked for.
    const auto moved = std::min<std::size_t>(size, 0x7ffff000);
    EXPECT_EQ(size, moved);
    requests.push_back({offset, static_cast<std::int64_t>(moved), parts});
    return static_cast<ssize_t>(moved);
  }
};

/// Addresses without memory.
class Addresses {
 public:
  explicit Addresses(std::size_t size) : size_(size) {
    start_ = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start_ == MAP_FAILED) throw std::runtime_error("no addresses");
  }
  ~Addresses() { munmap(start_, size_); }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  char* start() const { return static_cast<char*>(start_); }

 private:
  std::size_t size_;
  void* start_;
};

TEST(Posix, TransfersLargerThanOneCallAreSplit) {
  const std::int64_t size = std::int64_t{5} << 30;
  const Addresses memory(static_cast<std::size_t>(size));
  for (const auto operation : {Operation::read, Operation::write}) {
    CountingDevice device;
    device.base = memory.start();
    Job job{operation, {{0, memory.start(), size}}};
    EXPECT_EQ(posix_storage(0, device)->run(job), 0);
    ASSERT_EQ(device.requests.size(), 3U);
    EXPECT_EQ(device.requests[0].bytes, 0x7ffff000);
    EXPECT_EQ(device.requests[2].offset, 2LL * 0x7ffff000);
    EXPECT_EQ(device.requests[2].offset + device.requests[2].bytes, size);
    EXPECT_EQ(job.requests, 3);
  }
}

TEST(Posix, MergedTransfersNeverExceedOneCall) {
  const std::int64_t each = std::int64_t{1} << 30;
  const Addresses memory(static_cast<std::size_t>(5 * each));
  CountingDevice device;
  device.base = memory.start();
  Job job{Operation::write, {}};
  for (int i = 0; i < 5; ++i) job.transfers.push_back({i * each, memory.start() + i * each, each});
  EXPECT_EQ(posix_storage(0, device)->run(job), 0);
  std::int64_t bytes = 0;
  for (const auto& request : device.requests) bytes += request.bytes;
  EXPECT_EQ(bytes, 5 * each);
}

TEST(Posix, NeighboursBecomeOneVectorRequest) {
  std::string memory(10000, 'x');
  CountingDevice device;
  device.base = memory.data();
  Job job{Operation::write, {}};
  for (const int at : {0, 10, 20, 100, 110, 500})
    job.transfers.push_back({at, memory.data() + at, 10});
  EXPECT_EQ(posix_storage(0, device)->run(job), 0);
  ASSERT_EQ(device.requests.size(), 3U);
  EXPECT_EQ(device.requests[0].parts, 3);
  EXPECT_EQ(device.requests[1].parts, 2);
  EXPECT_EQ(device.requests[2].parts, 1);

  device.requests.clear();
  job = {Operation::read, {}};
  for (int at = 0; at < 10000; at += 4) job.transfers.push_back({at, memory.data() + at, 4});
  EXPECT_EQ(posix_storage(0, device)->run(job), 0);
  EXPECT_EQ(device.requests.size(), 3U) << "2500 parts, at most 1024 in a call";
}

// ---- faults

TEST(Fault, ASlowDeviceTakesItsTime) {
  const TempFile file;
  const auto device = faulty_device(system_device(), parse_fault("bytes_per_second=1000"));
  auto memory = letters(50);
  Job job{Operation::write, {{0, memory.data(), 50}}};
  timespec before{}, after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  EXPECT_EQ(posix_storage(file.fd(), *device)->run(job), 0);
  clock_gettime(CLOCK_MONOTONIC, &after);
  const auto seconds = static_cast<double>(after.tv_sec - before.tv_sec) +
                       static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
  EXPECT_GE(seconds, 0.049);
}

}  // namespace
}  // namespace choir
