// What bringing a file's beginning at hand promises: later loads meet no fault, nothing is read
// from a device for it, and a file that is shorter than expected does no harm.
#include "engine/at_hand.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace choir {
namespace {

constexpr std::int64_t page = 4096;
constexpr std::int64_t bytes = std::int64_t{3} << 20;
constexpr double long_enough_s = 10;

/// An unlinked file of `bytes`, all in memory.
class Filled {
 public:
  Filled() {
    std::string name =
        (std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : std::string("/tmp")) +
        "/at_hand_test.XXXXXX";
    fd_ = mkstemp(name.data());
    unlink(name.c_str());
    const std::vector<char> content(bytes, 'x');
    EXPECT_EQ(pwrite(fd_, content.data(), content.size(), 0), bytes);
  }
  ~Filled() { close(fd_); }
  int fd() const { return fd_; }
  bool tells_what_is_in_memory() const {
    char byte = 0;
    const iovec part{&byte, 1};
    return preadv2(fd_, &part, 1, 0, RWF_NOWAIT) == 1;
  }
  std::int64_t pages_in_memory() const {
    void* const there = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, 0);
    std::vector<unsigned char> flags(bytes / page);
    EXPECT_EQ(mincore(there, bytes, flags.data()), 0);
    munmap(there, bytes);
    return std::count_if(flags.begin(), flags.end(), [](auto one) { return one & 1; });
  }
  /// Whether its pages could be sent away.
  bool forget() const {
    EXPECT_EQ(fsync(fd_), 0);
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    return pages_in_memory() == 0;
  }

 private:
  int fd_ = -1;
};

std::int64_t faults_so_far() {
  rusage used{};
  EXPECT_EQ(getrusage(RUSAGE_THREAD, &used), 0);
  return used.ru_minflt + used.ru_majflt;
}

/// Met by loading from every page of [begin, end).
std::int64_t faults_of_loads(FileMapping& mapping, int fd, std::int64_t begin, std::int64_t end) {
  const auto view = mapping.view(fd, 0);
  const auto before = faults_so_far();
  for (auto at = begin; at < end; at += page)
    static_cast<void>(*static_cast<const volatile char*>(view.base + at));
  return faults_so_far() - before;
}

TEST(AtHand, PagesMeetNoFaultsAfterwards) {
  const Filled file;
  if (!file.tells_what_is_in_memory()) GTEST_SKIP() << "needs RWF_NOWAIT of the file system";
  FileMapping mapping(FileMapping::window_bytes);
  EXPECT_EQ(worth_bringing(mapping, file.fd(), bytes, long_enough_s), bytes);
  EXPECT_EQ(faults_of_loads(mapping, file.fd(), 0, bytes), 0);
}

TEST(AtHand, EveryRankBringsAllOfIt) {
  const Filled file;
  if (!file.tells_what_is_in_memory()) GTEST_SKIP() << "needs RWF_NOWAIT of the file system";
  for (int rank = 0; rank < 3; ++rank) {
    FileMapping mapping(FileMapping::window_bytes);
    bring_at_hand(mapping, file.fd(), bytes, long_enough_s, rank, 3);
    EXPECT_EQ(faults_of_loads(mapping, file.fd(), 0, bytes), 0) << "rank " << rank;
  }
}

TEST(AtHand, WithoutTimeNothingIsBrought) {
  const Filled file;
  FileMapping mapping(FileMapping::window_bytes);
  EXPECT_EQ(worth_bringing(mapping, file.fd(), bytes, 0), 0);
  bring_at_hand(mapping, file.fd(), bytes, 0, 0, 1);
  EXPECT_GT(faults_of_loads(mapping, file.fd(), 0, bytes), 0);
}

TEST(AtHand, NothingIsReadFromTheDevice) {
  const Filled file;
  if (!file.forget()) GTEST_SKIP() << "this file system keeps its files in memory";
  FileMapping mapping(FileMapping::window_bytes);
  EXPECT_EQ(worth_bringing(mapping, file.fd(), bytes, long_enough_s), 0);
  bring_at_hand(mapping, file.fd(), bytes, long_enough_s, 1, 2);
  rusage used{};
  ASSERT_EQ(getrusage(RUSAGE_THREAD, &used), 0);
  const auto before = used.ru_majflt;
  EXPECT_EQ(worth_bringing(mapping, file.fd(), bytes, long_enough_s), 0);
  ASSERT_EQ(getrusage(RUSAGE_THREAD, &used), 0);
  EXPECT_EQ(used.ru_majflt, before);
}

TEST(AtHand, AFileThatWasCutIsLeftAlone) {
  const Filled file;
  FileMapping mapping(FileMapping::window_bytes);
  ASSERT_EQ(ftruncate(file.fd(), page), 0);
  EXPECT_LT(worth_bringing(mapping, file.fd(), bytes, long_enough_s), bytes);
  bring_at_hand(mapping, file.fd(), bytes, long_enough_s, 0, 1);
}

}  // namespace
}  // namespace choir
