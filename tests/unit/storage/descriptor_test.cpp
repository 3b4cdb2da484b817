// descriptor_test.cpp: a descriptor goes on meaning its file, whatever becomes of the name.
#include "storage/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace choir {
namespace {

class DescriptorTest : public testing::Test {
 protected:
  DescriptorTest() : fd_(mkstemp(path_.data())) {}
  ~DescriptorTest() override {
    close(fd_);
    unlink(path_.c_str());
  }
  std::string path_ = testing::TempDir() + "/choir-descriptor-XXXXXX";
  int fd_;
};

TEST_F(DescriptorTest, IdentityIsThatOfTheName) {
  ASSERT_TRUE(identity_of(fd_));
  EXPECT_EQ(identity_of(fd_), identity_of(path_.c_str()));
  EXPECT_FALSE(identity_of(testing::TempDir().c_str()));  // no regular file
  EXPECT_FALSE(identity_of(-1));
}

TEST_F(DescriptorTest, ReopensAFileWithoutAName) {
  ASSERT_EQ(unlink(path_.c_str()), 0);
  const auto again = Descriptor::owned(reopen(fd_, O_RDWR));
  ASSERT_TRUE(again);
  EXPECT_NE(again.get(), fd_);
  EXPECT_EQ(identity_of(again.get()), identity_of(fd_));
}

TEST_F(DescriptorTest, IsListedWhileItIsOpen) {
  const auto listed = [](int fd) {
    const auto all = open_descriptors();
    return std::binary_search(all.begin(), all.end(), fd);
  };
  int fd = -1;
  {
    const auto again = Descriptor::owned(reopen(fd_, O_RDONLY));
    fd = again.get();
    EXPECT_TRUE(listed(fd));
  }
  EXPECT_FALSE(listed(fd));
  EXPECT_TRUE(listed(fd_));
}

TEST_F(DescriptorTest, BorrowedOnesStayOpen) {
  { const auto borrowed = Descriptor::borrowed(fd_); }
  EXPECT_TRUE(identity_of(fd_));
}

TEST_F(DescriptorTest, ModesThatMoveBytesElsewhereDoNotServe) {
  EXPECT_TRUE(reads_anywhere(fd_) && writes_anywhere(fd_));
  const auto appending = Descriptor::owned(reopen(fd_, O_RDWR | O_APPEND));
  EXPECT_FALSE(writes_anywhere(appending.get()));
  const auto reading = Descriptor::owned(reopen(fd_, O_RDONLY));
  EXPECT_TRUE(reads_anywhere(reading.get()));
  EXPECT_FALSE(writes_anywhere(reading.get()));
  EXPECT_FALSE(reads_anywhere(-1));
}

}  // namespace
}  // namespace choir
