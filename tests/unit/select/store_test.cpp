#include "select/store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "select/store_text.hpp"

namespace choir::select {
namespace {

namespace fs = std::filesystem;

constexpr double bytes = 1 << 20;
constexpr std::int64_t day = 24 * 3600, now = 20'000 * day;
const Site sixteen{16, 1, "Xeon 16", "/scratch (ext4)", "mpich"};

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "choir-store-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file() const { return path_ / "sub" / "memory"; }

 private:
  fs::path path_;
};

/// What a file of some calls adds: `looks` comparisons of `rival`, each `factor` times as slow.
std::map<ClassKey, Difference> a_file(const std::string& lines, const std::string& rival,
                                      double factor, int looks) {
  Book book(lines);
  ClassKey key;
  const auto* known = book.evidence(key);
  const std::string serves = known ? known->serves : "two_phase";
  book.record(key, serves, {0, Role::serving}, 0.01, bytes);
  for (int i = 0; i < looks; ++i) {
    book.record(key, rival, {0, Role::looking}, 0.01 * factor, bytes);
    book.record(key, serves, {0, Role::serving}, 0.01, bytes);
  }
  return book.take_differences();
}

const Evidence& only(const Store& store) {
  EXPECT_EQ(store.all().size(), 1u);
  return store.all().begin()->second;
}

TEST(Store, NothingIsWrittenThroughALink) {
  const Folder folder;
  const fs::path file = folder.file();
  fs::create_directories(file.parent_path());
  std::ofstream(file.parent_path() / "precious").flush();
  for (const char* name : {"memory", "memory.lock"}) {
    const auto link = file.parent_path() / name;
    fs::create_symlink("precious", link);
    Store store;
    store.add(sixteen, a_file("", "native", 3, 2), now);
    const auto why = store.save(folder.file(), now);
    ASSERT_TRUE(why.has_value()) << name;
    EXPECT_NE(why->find("it is a link"), std::string::npos) << *why;
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(fs::file_size(file.parent_path() / "precious"), 0u);
    fs::remove(link);
  }
}

TEST(Store, AFileStartsWhereTheOneBeforeEnded) {
  Store store;
  store.add(sixteen, a_file("", "native", 3, 2), now);
  const auto lines = store.lines_for(sixteen, now);
  Book next(lines);
  ASSERT_NE(next.evidence({}), nullptr);
  EXPECT_EQ(next.evidence({})->serves, "two_phase");
  EXPECT_DOUBLE_EQ(next.evidence({})->rival("native")->count(), 2);
  EXPECT_NEAR(next.evidence({})->rival("native")->middle(), 1.0986, 1e-4);
  EXPECT_GT(next.evidence({})->last, 0) << "one call per file is enough to go on";
}

TEST(Store, AnotherSiteKnowsNothing) {
  Store store;
  store.add(sixteen, a_file("", "native", 3, 2), now);
  for (const auto& other : {Site{8, 1, "Xeon 16", "/scratch (ext4)", "mpich"},
                            Site{16, 2, "Xeon 16", "/scratch (ext4)", "mpich"},
                            Site{16, 1, "Epyc 64", "/scratch (ext4)", "mpich"},
                            Site{16, 1, "Xeon 16", "/home (nfs)", "mpich"},
                            Site{16, 1, "Xeon 16", "/scratch (ext4)", "openmpi"}})
    EXPECT_EQ(store.lines_for(other, now), "");
}

TEST(Store, EvidenceHalvesInThirtyDays) {
  Store store;
  store.add(sixteen, a_file("", "native", 3, 2), now);
  Book later(store.lines_for(sixteen, now + 30 * day));
  EXPECT_NEAR(later.evidence({})->rival("native")->count(), 1, 1e-3);
  Book much_later(store.lines_for(sixteen, now + 400 * day));
  EXPECT_EQ(much_later.evidence({})->rival("native"), nullptr);
}

TEST(Store, JobsAtTheSameTimeAddToEachOther) {
  const Folder folder;
  Store one, other;
  one.add(sixteen, a_file("", "native", 3, 2), now);
  other.add(sixteen, a_file("", "individual", 2, 1), now);
  EXPECT_FALSE(one.save(folder.file(), now));
  EXPECT_FALSE(other.save(folder.file(), now));
  EXPECT_FALSE(other.unsaved());
  const auto both = load_store(folder.file());
  EXPECT_DOUBLE_EQ(only(both).rival("native")->count(), 2);
  EXPECT_DOUBLE_EQ(only(both).rival("individual")->count(), 1);
  EXPECT_NEAR(only(both).time_s, 0.09 + 0.04, 1e-9);
  EXPECT_FALSE(one.save(folder.file(), now)) << "nothing new";
  EXPECT_NEAR(only(load_store(folder.file())).time_s, 0.13, 1e-9);
}

TEST(Store, ComparisonsWithDifferentServersAreTranslated) {
  Store store;
  store.add(sixteen, a_file("", "native", 3, 3), now);  // native takes 3 times two_phase's
  auto difference = Difference{};
  difference.calls = 1;
  difference.comparisons = {{"individual", "native", 0.5}};
  difference.after.serves = "native";
  store.add(sixteen, {{ClassKey{}, difference}}, now);
  EXPECT_NEAR(only(store).rival("individual")->middle(), 1.0986 + 0.5, 1e-3);
}

TEST(Store, NobodyWaitsForTheLock) {
  const Folder folder;
  Store store;
  store.add(sixteen, a_file("", "native", 3, 2), now);
  fs::create_directories(fs::path(folder.file()).parent_path());
  std::ofstream(folder.file() + ".lock");
  const int fd = ::open((folder.file() + ".lock").c_str(), O_RDWR);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  EXPECT_FALSE(store.save(folder.file(), now)) << "no error: tried again another time";
  EXPECT_TRUE(store.unsaved());
  EXPECT_FALSE(fs::exists(folder.file()));
  ::close(fd);
  EXPECT_FALSE(store.save(folder.file(), now));
  EXPECT_TRUE(fs::exists(folder.file()));
}

TEST(Store, FilesOfOneRankStayInTheProcess) {
  const Folder folder;
  Store store;
  const Site alone{1, 1, "Xeon 16", "/scratch (ext4)", "mpich"};
  store.add(alone, a_file("", "native", 3, 2), now);
  EXPECT_NE(store.lines_for(alone, now), "");
  EXPECT_FALSE(store.unsaved());
  EXPECT_EQ(store.text(), "");
}

TEST(Store, WhatIsNoMemoryIsNotReplaced) {
  const Folder folder;
  fs::create_directories(fs::path(folder.file()).parent_path());
  std::ofstream(folder.file()) << "my diary\n";
  Store store;
  store.add(sixteen, a_file("", "native", 3, 2), now);
  const auto why = store.save(folder.file(), now);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("is no memory of choir's"), std::string::npos);
}

TEST(Store, TheMemoryOfTheVersionBeforeIsReplaced) {
  const Folder folder;
  fs::create_directories(fs::path(folder.file()).parent_path());
  std::ofstream(folder.file())
      << "00112233aabbccdd\t16\t1\text4\t0.1.0-mpich\tnative\t1e9\t1700000000\n";
  Store store;
  store.add(sixteen, a_file("", "native", 3, 2), now);
  EXPECT_FALSE(store.save(folder.file(), now));
  EXPECT_EQ(load_store(folder.file()).all().size(), 1u);
}

TEST(Store, ForgettingLeavesTheRest) {
  const Folder folder;
  Store store;
  store.add(sixteen, a_file("", "native", 3, 2), now);
  store.add({8, 1, "a", "b", "c"}, a_file("", "native", 3, 2), now);
  EXPECT_FALSE(store.save(folder.file(), now));
  const auto result = forget(
      folder.file(), [](const Store::Key& key, const Evidence&) { return key.first.ranks == 8; });
  EXPECT_FALSE(result.error);
  EXPECT_EQ(result.forgotten, 1u);
  EXPECT_EQ(only(load_store(folder.file())).serves, "two_phase");
}

TEST(Store, TextIsReadAgainAndDamageIsLeftOut) {
  Store store;
  store.add(sixteen, a_file("", "native", 3, 2), now);
  const auto text = store.text();
  EXPECT_EQ(Store::parse(text).text(), text);
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    auto damaged = text;
    for (int i = 0; i < 3; ++i)
      damaged[random() % damaged.size()] = "0-9\t\n,;=*:einf"[random() % 14];
    std::size_t skipped = 0;
    const auto read = Store::parse(damaged, &skipped);
    for (const auto& [key, evidence] : read.all()) {
      auto copy = evidence;
      const std::vector<Contender> contenders{{"two_phase", Kind::exchange, 0.01, 0.01},
                                              {"native", Kind::host, 0.02, 0.02}};
      EXPECT_GE(choose(copy, contenders, {bytes, true, false, 1, nullptr}).contender, 0);
    }
  }
}

// Three ranks whose stores differ, which must not happen: whoever notices makes all forget, and
// from then on all decide alike again.
TEST(Store, RanksThatForgetDecideAlikeAgain) {
  Store one, other;
  one.add(sixteen, a_file("", "native", 0.3, 2), now);
  other.add(sixteen, a_file("", "individual", 0.5, 2), now);
  Book books[] = {Book(one.lines_for(sixteen, now)), Book(other.lines_for(sixteen, now)), Book()};
  const std::vector<Contender> contenders{{"individual", Kind::own, 0.010, 0.010},
                                          {"two_phase", Kind::exchange, 0.012, 0.012},
                                          {"native", Kind::host, 0.011, 0.011}};
  const Occasion occasion{bytes, true, false, 1, nullptr};
  const auto choices = [&] {
    std::vector<int> chosen;
    for (auto& book : books) chosen.push_back(book.choose({}, contenders, occasion).contender);
    return chosen;
  };
  const auto apart = choices();
  EXPECT_FALSE(apart[0] == apart[1] && apart[1] == apart[2]);
  for (auto& book : books) book.forget();
  for (int call = 0; call < 50; ++call) {
    const auto alike = choices();
    EXPECT_TRUE(alike[0] == alike[1] && alike[1] == alike[2]);
    for (auto& book : books)
      book.record({}, contenders[static_cast<std::size_t>(alike[0])].name, {0, Role::serving},
                  0.01 + 0.001 * alike[0], bytes);
  }
}

}  // namespace
}  // namespace choir::select
