// files_test.cpp: whose files count, and where bytes go when others have put links in the way.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "files/output.hpp"
#include "files/trust.hpp"

namespace choir::files {
namespace {

constexpr uid_t nobody = 65534;

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "choir-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string make(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
    return path(name);
  }
  std::string content(const std::string& name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  struct stat info(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(::lstat(path(name).c_str(), &found), 0);
    return found;
  }

  std::string folder_;
};

TEST_F(Folder, OnesOwnFileCountsUnlessOthersMayWriteIt) {
  make("f", "x");
  for (const mode_t mode : {0600, 0644, 0400, 0755}) {
    ASSERT_EQ(::chmod(path("f").c_str(), mode), 0);
    EXPECT_EQ(distrust(info("f")), "") << std::oct << mode;
  }
  for (const mode_t mode : {0664, 0646, 0666}) {
    ASSERT_EQ(::chmod(path("f").c_str(), mode), 0);
    EXPECT_NE(distrust(info("f")).find("may write"), std::string::npos) << std::oct << mode;
  }
}

TEST_F(Folder, AnotherUsersFileDoesNotCount) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  make("f", "x");
  ASSERT_EQ(::chown(path("f").c_str(), nobody, nobody), 0);
  EXPECT_NE(distrust(info("f")).find("another user"), std::string::npos);
  EXPECT_FALSE(trusted_owner(nobody));
  EXPECT_TRUE(trusted_owner(0));
}

TEST_F(Folder, AnOutputGoesThroughNoLink) {
  make("precious", "keep");
  std::filesystem::create_symlink(path("precious"), path("link"));
  EXPECT_EQ(create_output(path("link"), 0600), -1);
  EXPECT_EQ(errno, ELOOP);
  EXPECT_EQ(open_own(path("link"), 0600), -1);
  EXPECT_EQ(errno, ELOOP);
  std::filesystem::create_symlink(path("nothing"), path("dangling"));
  EXPECT_EQ(create_output(path("dangling"), 0600), -1);
  EXPECT_EQ(content("precious"), "keep");
  EXPECT_FALSE(std::filesystem::exists(path("nothing")));
}

TEST_F(Folder, AnOutputReplacesAFileAndLeavesItsOtherNames) {
  make("precious", "keep");
  std::filesystem::create_hard_link(path("precious"), path("other"));
  const Descriptor out(create_output(path("other"), 0600));
  ASSERT_GE(out.get(), 0);
  EXPECT_TRUE(write_all(out.get(), "new"));
  EXPECT_EQ(content("other"), "new");
  EXPECT_EQ(content("precious"), "keep");
}

TEST_F(Folder, WhatIsNoFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(create_output(path("pipe"), 0600), -1);
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(open_own(path("pipe"), 0600), -1);
  EXPECT_EQ(errno, EISDIR);
}

TEST_F(Folder, AFolderMayBeOnesOwnLinkButNotAnothers) {
  EXPECT_TRUE(make_folders(path("a/b/c"), 0700));
  std::filesystem::create_symlink(path("a"), path("link"));
  EXPECT_TRUE(make_folders(path("link"), 0700));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  ASSERT_EQ(::lchown(path("link").c_str(), nobody, nobody), 0);
  for (const char* name : {"link", "link/"}) {
    EXPECT_FALSE(make_folders(path(name), 0700));
    EXPECT_EQ(errno, EPERM);
  }
}

}  // namespace
}  // namespace choir::files
