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

rusage used_so_far() {
  rusage used{};
  EXPECT_EQ(getrusage(RUSAGE_THREAD, &used), 0);
  return used;
}
std::int64_t faults_so_far() { return used_so_far().ru_minflt + used_so_far().ru_majflt; }
/// Page faults that had to wait for one.
std::int64_t device_reads_so_far() { return used_so_far().ru_majflt; }

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
  for (int rank = 0; rank < 3; ++rank) {
    FileMapping mapping(FileMapping::window_bytes);
    EXPECT_TRUE(bring_at_hand(mapping, file.fd(), bytes, long_enough_s, rank, 3));
    EXPECT_EQ(faults_of_loads(mapping, file.fd(), 0, bytes), 0) << "rank " << rank;
  }
}

TEST(AtHand, WithoutTimeNothingIsBrought) {
  const Filled file;
  FileMapping mapping(FileMapping::window_bytes);
  EXPECT_FALSE(bring_at_hand(mapping, file.fd(), bytes, 0, 0, 1));
  EXPECT_GT(faults_of_loads(mapping, file.fd(), 0, bytes), 0);
}

TEST(AtHand, NothingIsReadFromTheDevice) {
  const Filled file;
  if (!file.forget()) GTEST_SKIP() << "this file system keeps its files in memory";
  FileMapping mapping(FileMapping::window_bytes);
  const auto before = device_reads_so_far();
  EXPECT_FALSE(bring_at_hand(mapping, file.fd(), bytes, long_enough_s, 1, 2));
  EXPECT_EQ(device_reads_so_far(), before);
}

TEST(AtHand, AFileThatWasCutIsLeftAlone) {
  const Filled file;
  FileMapping mapping(FileMapping::window_bytes);
  ASSERT_EQ(ftruncate(file.fd(), page), 0);
  EXPECT_FALSE(bring_at_hand(mapping, file.fd(), bytes, long_enough_s, 0, 1));
}

TEST(AtHand, OnlyFilesThatFitAWindow) {
  EXPECT_FALSE(can_be_at_hand(0));
  EXPECT_TRUE(can_be_at_hand(1));
  EXPECT_TRUE(can_be_at_hand(FileMapping::window_bytes));
  EXPECT_FALSE(can_be_at_hand(FileMapping::window_bytes + 1));
}

TEST(AtHand, NotForAProgramThatReadLittleOfTheLatestFile) {
  ReadingHabit habit;
  EXPECT_TRUE(habit.reads_files());
  habit.note_read(bytes - 1, bytes);
  EXPECT_FALSE(habit.reads_files());
  habit.note_read(bytes, bytes);
  EXPECT_TRUE(habit.reads_files());
}

}  // namespace
}  // namespace choir
