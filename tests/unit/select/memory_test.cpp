// memory_test.cpp: the memory file survives concurrency, corruption and odd names.
#include "select/memory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace choir::select {
namespace {

class MemoryFile : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "choir-memory-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/cache/choir/memory";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_, path_;
};

MemoryEntry entry(std::uint64_t signature, std::int64_t date = 1, std::string name = "two_phase") {
  return {{signature, 64, 4, "lustre", "1.0"}, std::move(name), 1.5e9, date};
}

TEST_F(MemoryFile, WhatIsStoredIsFound) {
  EXPECT_EQ(store_memory(path_, {entry(1), entry(2)}), std::nullopt);
  const auto memory = load_memory(path_);
  ASSERT_NE(memory.lookup(entry(2).key), nullptr);
  EXPECT_EQ(*memory.lookup(entry(2).key), entry(2));
  auto other = entry(2).key;
  other.nodes = 5;
  EXPECT_EQ(memory.lookup(other), nullptr);
}

TEST_F(MemoryFile, YoungerResultReplacesOlder) {
  EXPECT_EQ(store_memory(path_, {entry(1, 10, "old")}), std::nullopt);
  EXPECT_EQ(store_memory(path_, {entry(1, 20, "new"), entry(1, 5, "ancient")}), std::nullopt);
  EXPECT_EQ(load_memory(path_).lookup(entry(1).key)->strategy, "new");
}

TEST_F(MemoryFile, CorruptedLinesAreIgnored) {
  ASSERT_EQ(store_memory(path_, {entry(1)}), std::nullopt);
  std::ofstream(path_, std::ios::app) << "garbage\n0\t0\t0\t\t\t\t\t\n1\t2\t3\tx\ty\tz\tnan\t4\n"
                                      << std::string(5000, '\t') << '\n'
                                      << "000000000000000";
  EXPECT_EQ(load_memory(path_).size(), 1u);
  ASSERT_EQ(store_memory(path_, {entry(2)}), std::nullopt);
  std::size_t skipped = 99;
  std::ifstream in(path_);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(Memory::parse(text, &skipped).size(), 2u);
  EXPECT_EQ(skipped, 0u);
}

TEST_F(MemoryFile, ConcurrentJobsLoseNothing) {
  constexpr int jobs = 8, stores = 10;
  for (int job = 0; job < jobs; ++job) {
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int i = 0; i < stores; ++i)
        good = good &&
               !store_memory(path_, {entry(std::uint64_t{stores} * static_cast<std::uint64_t>(job) +
                                           static_cast<std::uint64_t>(i))});
      ::_exit(good ? 0 : 1);
    }
  }
  for (int job = 0; job < jobs; ++job) {
    int status = 1;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(load_memory(path_).size(), static_cast<std::size_t>(jobs * stores));
}

TEST_F(MemoryFile, FailureIsAReason) {
  std::ofstream(folder_ + "/cache") << "a file where a folder should be";
  const auto why = store_memory(path_, {entry(1)});
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find("cannot"), std::string::npos);
  EXPECT_EQ(load_memory(path_).size(), 0u);
  EXPECT_TRUE(store_memory("", {entry(1)}).has_value());
}

TEST_F(MemoryFile, AFileOfSomethingElseIsLeftAlone) {
  const auto path = folder_ + "/input.nml";
  const std::string content = "&run\n steps = 30\n/\n";
  std::ofstream(path) << content;
  const auto why = store_memory(path, {entry(1)});
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find("no memory"), std::string::npos) << *why;
  const auto forgotten = forget_memory(
      path, [](const MemoryEntry&, void*) { return true; }, nullptr);
  EXPECT_TRUE(forgotten.error.has_value());
  std::ifstream in(path);
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(in)), {}), content);
  EXPECT_TRUE(store_memory(folder_, {entry(1)}).has_value());
}

TEST_F(MemoryFile, NothingIsWrittenThroughALink) {
  const auto link = folder_ + "/link";
  ASSERT_EQ(store_memory(path_, {entry(1)}), std::nullopt);
  std::filesystem::create_symlink(path_, link);
  const auto why = store_memory(link, {entry(2)});
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find("it is a link"), std::string::npos) << *why;
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(load_memory(path_).size(), 1u);
}

TEST_F(MemoryFile, TheLocksFileIsNoLinkEither) {
  const auto path = folder_ + "/memory-beside-a-link";
  std::filesystem::create_symlink(folder_ + "/made-by-nobody", path + ".lock");
  EXPECT_TRUE(store_memory(path, {entry(1)}).has_value());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/made-by-nobody"));
}

TEST_F(MemoryFile, ForgetRemovesWhatMatches) {
  ASSERT_EQ(store_memory(path_, {entry(1, 1, "a"), entry(2, 1, "b")}), std::nullopt);
  const auto result = forget_memory(
      path_, [](const MemoryEntry& e, void*) { return e.strategy == "a"; }, nullptr);
  EXPECT_EQ(result.forgotten, 1u);
  EXPECT_EQ(result.error, std::nullopt);
  EXPECT_EQ(load_memory(path_).size(), 1u);
}

TEST(MemoryValue, StaysBounded) {
  Memory memory;
  for (int i = 0; i < 5000; ++i) memory.add(entry(static_cast<std::uint64_t>(i), i));
  memory.trim();
  EXPECT_EQ(memory.size(), Memory::max_entries);
  EXPECT_EQ(memory.lookup(entry(0).key), nullptr);
  EXPECT_NE(memory.lookup(entry(4999).key), nullptr);
}

TEST(MemoryValue, PathFollowsTheXdgRules) {
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(default_memory_path(), "/somewhere/choir/memory");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_memory_path(), "/home/me/.cache/choir/memory");
  ::unsetenv("HOME");
  EXPECT_EQ(default_memory_path(), "");
}

RC_GTEST_PROP(MemoryValue, SurvivesSerialisation, ()) {
  Memory memory;
  const auto count = *rc::gen::inRange(0, 8);
  for (int i = 0; i < count; ++i) {
    MemoryEntry e;
    e.key.signature = *rc::gen::inRange<std::uint64_t>(0, 1000000);
    e.key.ranks = *rc::gen::inRange(1, 100000);
    e.key.nodes = *rc::gen::inRange(1, 1000);
    e.key.file_system = *rc::gen::element<std::string>("ext4", "a b\tc\n", "", "nfs");
    e.key.version = *rc::gen::element<std::string>("1.0", "2.0-rc1");
    e.strategy = *rc::gen::element<std::string>("native", "two phase", "x");
    e.bytes_per_s = *rc::gen::inRange(1, 1000000) / 7.0;
    e.date_s = *rc::gen::inRange(0, 2000000000);
    memory.add(e);
    RC_ASSERT(memory.lookup(e.key) != nullptr);
  }
  std::size_t skipped = 1;
  const auto again = Memory::parse(memory.serialise(), &skipped);
  RC_ASSERT(skipped == 0u);
  RC_ASSERT(again.entries() == memory.entries());
}

}  // namespace
}  // namespace choir::select
