// What a file's mapping promises: bytes stored in a view are the file's, blocks are there before
// anybody stores, and no more stays mapped than the limit says.
#include "engine/mapping.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace choir {
namespace {

constexpr auto window = FileMapping::window_bytes;

/// An unlinked file that is gone with its descriptor.
class Scratch {
 public:
  Scratch() {
    name_ = (std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : std::string("/tmp")) +
            "/mapping_test.XXXXXX";
    fd_ = mkstemp(name_.data());
  }
  ~Scratch() {
    close(fd_);
    unlink(name_.c_str());
  }
  int fd() const { return fd_; }
  struct stat info() const {
    struct stat info {};
    EXPECT_EQ(fstat(fd_, &info), 0);
    return info;
  }
  int times_mapped() const {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
      count += line.find(name_) != std::string::npos ? 1 : 0;
    return count;
  }

 private:
  std::string name_;
  int fd_ = -1;
};

TEST(FileMapping, ReservesBlocksAndReachesTheEnd) {
  const Scratch file;
  FileMapping mapping(window);
  ASSERT_EQ(mapping.reserve(file.fd(), {4096, 1 << 20}), 0);
  EXPECT_EQ(file.info().st_size, 1 << 20);
  EXPECT_GE(file.info().st_blocks * 512, (1 << 20) - 4096);
}

TEST(FileMapping, ReservesAgainWhatAnotherHandleCutOff) {
  const Scratch file;
  FileMapping mapping(window);
  ASSERT_EQ(mapping.reserve(file.fd(), {0, 1 << 20}), 0);
  ASSERT_EQ(ftruncate(file.fd(), 100), 0);
  ASSERT_EQ(mapping.reserve(file.fd(), {0, 1 << 20}), 0);
  EXPECT_EQ(file.info().st_size, 1 << 20);
}

TEST(FileMapping, ReservesAgainAfterTheSizeWasSet) {
  const Scratch file;
  FileMapping mapping(window);
  ASSERT_EQ(mapping.reserve(file.fd(), {0, 1 << 20}), 0);
  ASSERT_EQ(ftruncate(file.fd(), 0), 0);
  ASSERT_EQ(ftruncate(file.fd(), 1 << 20), 0);  // a hole now
  mapping.forget_reserved();
  ASSERT_EQ(mapping.reserve(file.fd(), {0, 1 << 20}), 0);
  EXPECT_GE(file.info().st_blocks * 512, 1 << 20);
}

TEST(FileMapping, RemembersExtentsThatMeet) {
  const Scratch file;
  FileMapping mapping(window);
  for (const std::int64_t at : {0, 8192, 4096})
    ASSERT_EQ(mapping.reserve(file.fd(), {at, at + 4096}), 0);
  // Punched behind its back: only a range that is known to be reserved is not asked for again.
  ASSERT_EQ(ftruncate(file.fd(), 0), 0);
  ASSERT_EQ(ftruncate(file.fd(), 12288), 0);
  ASSERT_EQ(mapping.reserve(file.fd(), {0, 12288}), 0);
  EXPECT_EQ(file.info().st_blocks, 0);
  ASSERT_EQ(mapping.reserve(file.fd(), {0, 12289}), 0);
  EXPECT_GT(file.info().st_blocks, 0);
}

TEST(FileMapping, StoresAreInTheFileOnBothSidesOfAWindowsEdge) {
  const Scratch file;
  FileMapping mapping(8 * window);
  ASSERT_EQ(mapping.reserve(file.fd(), {window - 4096, window + 4096}), 0);
  for (const std::int64_t at : {window - 1, window}) {
    const auto view = mapping.view(file.fd(), at);
    ASSERT_NE(view.base, nullptr);
    EXPECT_TRUE(view.range.begin <= at && at < view.range.end);
    view.base[at] = at == window ? 'b' : 'a';
  }
  char bytes[2] = {};
  ASSERT_EQ(pread(file.fd(), bytes, 2, window - 1), 2);
  EXPECT_EQ(std::string(bytes, 2), "ab");
}

TEST(FileMapping, WhatWasFilledIsNotReservedAgainUnlessTheFileWasCut) {
  const Scratch file;
  FileMapping mapping(window);
  const auto blocks = [&] {
    struct stat info {};
    EXPECT_EQ(fstat(file.fd(), &info), 0);
    return info.st_blocks;
  };
  ASSERT_EQ(ftruncate(file.fd(), 1 << 20), 0);
  mapping.note_filled({0, 1 << 20});  // as far as it knows
  ASSERT_EQ(mapping.reserve(file.fd(), {4096, 1 << 20}), 0);
  EXPECT_EQ(blocks(), 0);
  ASSERT_EQ(ftruncate(file.fd(), 0), 0);
  ASSERT_EQ(mapping.reserve(file.fd(), {4096, 1 << 20}), 0);
  EXPECT_GT(blocks(), 0);
}

TEST(FileMapping, PopulatingChangesNoByte) {
  const Scratch file;
  FileMapping mapping(window);
  ASSERT_EQ(pwrite(file.fd(), "here", 4, 200'000), 4);
  ASSERT_EQ(mapping.reserve(file.fd(), {0, 1 << 20}), 0);
  const auto view = mapping.view(file.fd(), 0);
  mapping.populate(view, {10, (1 << 20) - 10});
  mapping.populate(view, {0, 1 << 20});
  EXPECT_EQ(std::memcmp(view.base + 200'000, "here", 4), 0);
  EXPECT_EQ(view.base[100], 0);
}

TEST(FileMapping, KeepsNoMoreThanItsLimit) {
  const Scratch file;
  FileMapping mapping(2 * window);
  ASSERT_EQ(ftruncate(file.fd(), 4 * window), 0);
  for (const int number : {0, 1, 2, 1, 3, 0}) {
    const auto view = mapping.view(file.fd(), number * window + 5);
    ASSERT_NE(view.base, nullptr);
    EXPECT_EQ(view.range.begin, number * window);
    EXPECT_LE(file.times_mapped(), 2);
  }
}

TEST(FileMapping, ADescriptorThatCannotBeMappedIsAnError) {
  FileMapping mapping(window);
  const auto view = mapping.view(-1, 0);
  EXPECT_EQ(view.base, nullptr);
  EXPECT_EQ(view.error, EBADF);
}

TEST(FileMapping, BlocksAreNewOnce) {
  const Scratch file;
  FileMapping mapping(window);
  constexpr auto block = FileMapping::block_bytes;
  ASSERT_EQ(mapping.reserve(file.fd(), {0, 8 * block}), 0);
  const auto view = mapping.view(file.fd(), 0);
  ASSERT_NE(view.base, nullptr);
  mapping.populate(view, {0, 2 * block});
  EXPECT_EQ(mapping.leave_to_faults(view, {block, 4 * block}), 2 * block);
  EXPECT_EQ(mapping.leave_to_faults(view, {0, 4 * block}), 0);
  EXPECT_EQ(mapping.leave_to_faults(view, {4 * block + 1, 6 * block}), block);  // whole blocks only
}

TEST(FileMapping, TellsWhetherFaultsBringBlocks) {
  FileMapping mapping(window);
  EXPECT_FALSE(mapping.faults_bring_blocks().has_value());
  mapping.note_faults(64 << 10, 1);
  EXPECT_EQ(mapping.faults_bring_blocks(), true);
  mapping.note_faults(64 << 10, 16);  // one page each
  EXPECT_EQ(mapping.faults_bring_blocks(), false);
}

}  // namespace
}  // namespace choir
