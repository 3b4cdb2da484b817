// settings_test.cpp: what is read from files, environment and hints, and what is said about
// mistakes.
#include "settings/settings.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "settings/strategies.hpp"

namespace choir {
namespace {

bool mentions(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

// ---- sizes

TEST(Size, UnitsAreBinary) {
  const std::pair<const char*, std::int64_t> sizes[] = {{"0", 0},
                                                        {"1073741824", 1 << 30},
                                                        {"64b", 64},
                                                        {"4k", 4096},
                                                        {"64KiB", 65536},
                                                        {"1kb", 1024},
                                                        {"4M", 4 << 20},
                                                        {"2MiB", 2 << 20},
                                                        {"3mb", 3 << 20},
                                                        {"1G", 1 << 30},
                                                        {"8gib", std::int64_t{8} << 30}};
  for (const auto& [text, expected] : sizes) {
    std::int64_t bytes = -1;
    EXPECT_TRUE(parse_size(text, bytes)) << text;
    EXPECT_EQ(bytes, expected) << text;
  }
}

TEST(Size, WhatIsNotASizeIsRefusedAndChangesNothing) {
  for (const char* text : {"", "k", "-1", "4X", "4 M", "1.5M", "four", "9223372036854775808",
                           "9007199254740992K", "4MM"}) {
    std::int64_t bytes = 17;
    EXPECT_FALSE(parse_size(text, bytes)) << text;
    EXPECT_EQ(bytes, 17) << text;
  }
}

RC_GTEST_PROP(SizeProperty, AnyNumberWithAnyUnit, ()) {
  const auto number = *rc::gen::inRange<std::int64_t>(0, 1 << 30);
  std::int64_t bytes = -1;
  const std::pair<const char*, int> units[] = {{"", 0}, {"K", 10}, {"MiB", 20}, {"gb", 30}};
  for (const auto& [unit, shift] : units) {
    RC_ASSERT(parse_size(std::to_string(number) + unit, bytes));
    RC_ASSERT(bytes == number << shift);
  }
}

// ---- entries

TEST(Entries, LaterOnesWinAndTheirSourceIsKept) {
  Settings settings;
  const auto warnings = apply_entries(settings, {{"strategy", "native", "a.toml"},
                                                 {"cycle_buffer_bytes", "2M", "a.toml"},
                                                 {"strategy", "two_phase", "environment"},
                                                 {"stats", "yes", "environment"},
                                                 {"sieve_threshold", "0.25", "environment"}});
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(settings.strategy, "two_phase");
  EXPECT_EQ(settings.sources.at("strategy"), "environment");
  EXPECT_EQ(settings.cycle_buffer_bytes, 2 << 20);
  EXPECT_EQ(settings.sources.at("cycle_buffer_bytes"), "a.toml");
  EXPECT_TRUE(settings.stats);
  EXPECT_EQ(settings.sieve_threshold, 0.25);
  EXPECT_EQ(settings.sources.count("backend"), 0U) << "a default has no source";
}

const Key& key_named(const char* name) {
  for (const auto& key : setting_keys())
    if (name == key.name) return key;
  throw std::invalid_argument(std::string("no key ") + name);
}

TEST(Entries, ABadValueIsOneWarningThatSaysEverything) {
  const std::pair<const char*, const char*> bad[] = {{"backend", "floppy"},
                                                     {"cycle_buffer_bytes", "63"},
                                                     {"cycle_buffer_bytes", "2G"},
                                                     {"aggregators", "-1"},
                                                     {"aggregators", "3x"},
                                                     {"aggregators_per_server", "0"},
                                                     {"sieve_threshold", "1.5"},
                                                     {"sieve_threshold", "nan"},
                                                     {"stats", "perhaps"},
                                                     {"cycle_buffer", "growing"},
                                                     {"concurrent", ""},
                                                     {"progress", "never"},
                                                     {"group_size", "99999999999999999999"}};
  for (const auto& [key, value] : bad) {
    Settings settings;
    const auto& known = key_named(key);
    const auto before = known.get(settings);
    const auto warnings = apply_entries(settings, {{key, value, "some-file.toml"}});
    ASSERT_EQ(warnings.size(), 1U) << key << "=" << value;
    const std::string said[] = {key, "\"" + std::string(value) + "\"", "some-file.toml",
                                known.accepted, before};
    for (const auto& word : said)
      EXPECT_TRUE(mentions(warnings[0], word)) << word << " in: " << warnings[0];
    EXPECT_EQ(known.get(settings), before) << "the value in force stays";
    EXPECT_TRUE(settings.sources.empty());
  }
}

TEST(Entries, AnUnknownKeyIsOneWarning) {
  Settings settings;
  const auto warnings =
      apply_entries(settings, {{"stratgy", "native", "environment"}, {"strategy", "native", "x"}});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(mentions(warnings[0], "stratgy"));
  EXPECT_TRUE(mentions(warnings[0], "native"));
  EXPECT_TRUE(mentions(warnings[0], "environment"));
  EXPECT_EQ(settings.strategy, "native") << "the others are applied";
}

TEST(Entries, EveryKeyTakesItsOwnDefaultBack) {
  const Settings defaults;
  for (const auto& key : setting_keys()) {
    Settings settings;
    EXPECT_TRUE(key.set(settings, key.get(defaults))) << key.name;
    EXPECT_EQ(key.get(settings), key.get(defaults)) << key.name;
    EXPECT_STRNE(key.meaning, "") << key.name;
    EXPECT_STRNE(key.accepted, "") << key.name;
  }
}

TEST(Entries, TablesDescribeNewStrategies) {
  Settings settings;
  const auto warnings = apply_entries(settings, {{"strategy.mine.partition", "even", "a.toml"},
                                                 {"strategy.mine.requests", "list", "a.toml"},
                                                 {"strategy.other.partition", "node", "a.toml"},
                                                 {"strategy", "mine", "a.toml"}});
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(settings.strategy, "mine");
  EXPECT_EQ(settings.custom.at("mine").at("partition"), "even");
  EXPECT_EQ(settings.custom.at("mine").at("requests"), "list");
  EXPECT_EQ(settings.custom.at("other").size(), 1U);
}

// ---- hints

Settings with_hints(const std::vector<std::pair<std::string, std::string>>& hints) {
  Settings settings;
  EXPECT_TRUE(apply_entries(settings, entries_from_hints(hints)).empty());
  return settings;
}

TEST(Hints, MeanWhatTheirUsersThink) {
  EXPECT_EQ(with_hints({{"cb_nodes", "3"}}).aggregators, 3);
  EXPECT_EQ(with_hints({{"cb_buffer_size", "16777216"}}).cycle_buffer_bytes, 16 << 20);
  EXPECT_EQ(with_hints({{"striping_unit", "1048576"}}).striping_unit, 1 << 20);
  EXPECT_EQ(with_hints({{"striping_factor", "8"}}).striping_factor, 8);
  EXPECT_EQ(with_hints({{"cb_config_list", "*:2"}}).aggregators_per_node, 2);
  EXPECT_EQ(with_hints({{"cb_config_list", "*:*"}}).aggregators_per_node, 0);
  EXPECT_FALSE(with_hints({{"romio_ds_write", "disable"}}).sieve_writes);
  EXPECT_TRUE(with_hints({{"romio_ds_write", "disable"}}).sieve_reads);
  EXPECT_FALSE(with_hints({{"romio_ds_read", "disable"}}).sieve_reads);
  EXPECT_TRUE(with_hints({{"romio_ds_read", "disable"}}).sieve_writes);
}

TEST(Hints, CollectiveBufferingCanBeSwitchedOff) {
  const auto writes = with_hints({{"romio_cb_write", "disable"}});
  EXPECT_EQ(writes.write_strategy, "individual");
  EXPECT_EQ(writes.read_strategy, "");
  EXPECT_EQ(with_hints({{"romio_cb_read", "disable"}}).read_strategy, "individual");
  EXPECT_EQ(with_hints({{"collective_buffering", "false"}}).strategy, "individual");
  EXPECT_EQ(with_hints({{"romio_cb_write", "enable"}}).write_strategy, "");
  EXPECT_EQ(with_hints({{"romio_cb_write", "automatic"}}).write_strategy, "");
}

TEST(Hints, ChoirsOwnKeysAndThoseOfOthers) {
  EXPECT_EQ(with_hints({{"choir_strategy", "native"}, {"choir_group_size", "5"}}).strategy,
            "native");
  EXPECT_TRUE(entries_from_hints({{"panfs_layout_type", "1"}, {"host", "x"}}).empty());
}

TEST(Hints, WhatAFileSaysOfItselfIsNoWish) {
  Settings settings;
  const auto warnings =
      apply_entries(settings, entries_from_hints({{"choir_version", "1.0"},
                                                  {"choir_reason", "fastest of 3 examined"},
                                                  {"choir_strategy", "auto (two_phase)"}}));
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  EXPECT_EQ(settings.strategy, "auto");
}

TEST(Entries, MemoryIsSwitchedByAnyWordForIt) {
  const std::pair<const char*, const char*> words[] = {{"OFF", "off"}, {"no", "off"},
                                                       {"0", "off"},   {"True", "on"},
                                                       {"1", "on"},    {"my/Off", "my/Off"}};
  for (const auto& [given, expected] : words) {
    Settings settings;
    EXPECT_TRUE(apply_entries(settings, {{"memory", given, "test"}}).empty()) << given;
    EXPECT_EQ(settings.memory, expected);
  }
}

TEST(Entries, DroppedKeysAreSaidToBeGoneAndChangeNothing) {
  for (const char* key : {"examine_calls", "drift"}) {
    Settings settings;
    const auto warnings = apply_entries(settings, {{key, "0.3", "choir.toml"}});
    ASSERT_EQ(warnings.size(), 1U) << key;
    EXPECT_TRUE(mentions(warnings[0], key)) << warnings[0];
    EXPECT_TRUE(mentions(warnings[0], "choir.toml")) << warnings[0];
    EXPECT_TRUE(mentions(warnings[0], "is no longer a setting")) << warnings[0];
    EXPECT_TRUE(settings.sources.empty()) << key;
  }
}

TEST(Hints, ABadOneIsAWarningThatNamesTheHint) {
  Settings settings;
  const auto warnings = apply_entries(settings, entries_from_hints({{"cb_nodes", "many"}}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(mentions(warnings[0], "cb_nodes")) << warnings[0];
  EXPECT_TRUE(mentions(warnings[0], "many")) << warnings[0];
  EXPECT_TRUE(mentions(warnings[0], "MPI_Info")) << warnings[0];
}

TEST(Hints, LoadNoCode) {
  Settings settings;
  const auto warnings = apply_entries(settings, entries_from_hints({{"choir_plugins", "x.so"}}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(mentions(warnings[0], "a hint cannot load code")) << warnings[0];
  EXPECT_EQ(settings.plugins, "");
}

TEST(Text, WhatIsNotUtf8IsNoConfiguration) {
  EXPECT_EQ(entries_of_text("trace = '\xc3\xa9'\n", "f").size(), 1U);
  for (const char* bytes : {"\x9f", "\xc3", "\xc0\x80", "\xed\xa0\x80"})
    EXPECT_THROW(entries_of_text(std::string("trace = '") + bytes + "'\n", "f"),
                 std::runtime_error);
}

// ---- names of strategies

TEST(Names, WhatIsNoStrategyLeavesTheSettings) {
  Settings settings;
  EXPECT_TRUE(apply_entries(settings, {{"strategy", "nonsense", "environment"},
                                       {"write_strategy", "mapped", "environment"},
                                       {"candidates", "two_phase,tape", "environment"}})
                  .empty());
  StrategyTable table;
  std::vector<std::string> warnings;
  const auto named = name_strategies(settings, table, warnings);
  EXPECT_EQ(warnings.size(), 2U);
  EXPECT_EQ(settings.strategy, "auto");
  EXPECT_EQ(settings.sources.count("strategy"), 0U);
  EXPECT_EQ(settings.candidates, "two_phase");
  EXPECT_FALSE(named.read.has_value());
  EXPECT_EQ(named.write, table.find("mapped"));
  EXPECT_EQ(named.candidates, std::vector<int>{*table.find("two_phase")});
}

TEST(Names, WithoutCandidatesAllStrategiesAre) {
  Settings settings;
  settings.candidates = "tape";
  StrategyTable table;
  std::vector<std::string> warnings;
  EXPECT_EQ(name_strategies(settings, table, warnings).candidates.size(), table.rows().size());
}

// ---- on the wire

RC_GTEST_PROP(WireProperty, EntriesComeBackAsTheyWere, ()) {
  const auto word = [] {
    return *rc::gen::container<std::string>(
        rc::gen::inRange<char>(1, 127));  // no zero bytes in settings
  };
  Entries entries;
  for (auto n = *rc::gen::inRange(0, 6); n > 0; --n) entries.push_back({word(), word(), word()});
  const auto text = serialise(entries);
  const auto back = deserialise(text);
  RC_ASSERT(back.size() == entries.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    RC_ASSERT(back[i].key == entries[i].key);
    RC_ASSERT(back[i].value == entries[i].value);
    RC_ASSERT(back[i].source == entries[i].source);
  }
  // A cut text gives the entries that are whole.
  RC_ASSERT(deserialise(text.substr(0, text.size() / 2)).size() <= entries.size());
}

// ---- files and environment

/// A folder of its own without choir.toml, and no CHOIR_* variable of whoever runs the tests.
class Sources : public testing::Test {
 protected:
  void SetUp() override {
    umask(S_IWGRP | S_IWOTH);  // a file that others may write does not count
    auto folder = testing::TempDir() + "/choir-settings-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    ASSERT_EQ(chdir(folder.c_str()), 0);
    std::vector<std::string> names;
    for (char** variable = environ; *variable != nullptr; ++variable)
      if (std::string(*variable).compare(0, 6, "CHOIR_") == 0)
        names.push_back(std::string(*variable).substr(0, std::string(*variable).find('=')));
    for (const auto& name : names) unsetenv(name.c_str());
  }
  void TearDown() override {
    for (const char* name : {"CHOIR_CONFIG", "CHOIR_STRATEGY", "CHOIR_STATS"}) unsetenv(name);
    for (const auto& file : files_) unlink(file.c_str());
    EXPECT_EQ(chdir("/"), 0);
    EXPECT_EQ(rmdir(folder_.c_str()), 0);
  }

  std::string write(const std::string& name, const std::string& text) {
    files_.push_back(folder_ + "/" + name);
    std::ofstream(files_.back()) << text;
    return files_.back();
  }

  /// What is read, without what the machine's own configuration says.
  Settings read(std::vector<std::string>& warnings) {
    Entries entries;
    for (auto& entry : read_entries(warnings))
      if (entry.source != "/etc/choir.toml") entries.push_back(entry);
    Settings settings;
    for (auto& warning : apply_entries(settings, entries)) warnings.push_back(warning);
    return settings;
  }

  std::string folder_;
  std::vector<std::string> files_;
};

TEST_F(Sources, TheFileOfTheFolderIsReadByItself) {
  write("choir.toml", "strategy = \"core_first\"\n");
  std::vector<std::string> warnings;
  const auto settings = read(warnings);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(settings.strategy, "core_first");
  EXPECT_EQ(settings.sources.at("strategy"), "choir.toml");
}

/// One warning that says why, and nothing of the file in force.
void expect_passed_over(const Settings& settings, const std::vector<std::string>& warnings,
                        const std::string& why) {
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(mentions(warnings[0], "choir.toml is ignored")) << warnings[0];
  EXPECT_TRUE(mentions(warnings[0], why)) << warnings[0];
  EXPECT_EQ(settings.strategy, "auto");
  EXPECT_EQ(settings.plugins, "");
}

TEST_F(Sources, AFileOfTheFolderThatOthersMayWriteIsPassedOver) {
  const auto path = write("choir.toml", "strategy = 'core_first'\nplugins = 'evil.so'\n");
  for (const mode_t mode : {0664, 0646}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    std::vector<std::string> warnings;
    const auto settings = read(warnings);
    expect_passed_over(settings, warnings, "other users may write it");
  }
}

TEST_F(Sources, AnotherUsersFileIsPassedOverUnlessItIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const auto path = write("choir.toml", "strategy = 'core_first'\nplugins = 'evil.so'\n");
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  std::vector<std::string> warnings;
  const auto settings = read(warnings);
  expect_passed_over(settings, warnings, "another user");
  setenv("CHOIR_CONFIG", path.c_str(), 1);
  warnings.clear();
  EXPECT_EQ(read(warnings).strategy, "core_first");
  EXPECT_TRUE(warnings.empty());
}

TEST_F(Sources, AnotherUsersLinkIsPassedOver) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  write("mine.toml", "strategy = 'core_first'\n");
  files_.push_back(folder_ + "/choir.toml");
  ASSERT_EQ(symlink("mine.toml", "choir.toml"), 0);
  std::vector<std::string> warnings;
  EXPECT_EQ(read(warnings).strategy, "core_first") << "one's own link counts";
  ASSERT_EQ(lchown("choir.toml", 65534, 65534), 0);
  warnings.clear();
  const auto settings = read(warnings);
  expect_passed_over(settings, warnings, "another user");
}

TEST_F(Sources, PluginsOfTheFolderAreKnownAsSuch) {
  const auto path = write("choir.toml", "plugins = 'some.so'\n");
  std::vector<std::string> warnings;
  EXPECT_TRUE(plugins_of_folder(read(warnings)));
  setenv("CHOIR_CONFIG", path.c_str(), 1);
  EXPECT_FALSE(plugins_of_folder(read(warnings)));
  EXPECT_FALSE(plugins_of_folder(Settings{}));
}

TEST_F(Sources, EveryKindOfValueIsRead) {
  const auto path = write("mine.toml",
                          "candidates = ['two_phase', 'mine']\nstats = true\ngroup_size = 7\n"
                          "sieve_threshold = 0.75\ncycle_buffer_bytes = '2M'\n"
                          "[strategy.mine]\npartition = 'even'\nnode_first = true\n");
  setenv("CHOIR_CONFIG", path.c_str(), 1);
  std::vector<std::string> warnings;
  const auto settings = read(warnings);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(settings.candidates, "two_phase,mine");
  EXPECT_TRUE(settings.stats);
  EXPECT_EQ(settings.group_size, 7);
  EXPECT_EQ(settings.sieve_threshold, 0.75);
  EXPECT_EQ(settings.cycle_buffer_bytes, 2 << 20);
  EXPECT_EQ(settings.custom.at("mine").at("partition"), "even");
  EXPECT_EQ(settings.custom.at("mine").at("node_first"), "1");
  EXPECT_EQ(settings.sources.at("stats"), path);
}

TEST_F(Sources, TheEnvironmentOutranksTheFile) {
  const auto path = write("mine.toml", "strategy = 'core_first'\ngroup_size = 7\n");
  setenv("CHOIR_CONFIG", path.c_str(), 1);
  setenv("CHOIR_STRATEGY", "native", 1);
  std::vector<std::string> warnings;
  const auto settings = read(warnings);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  EXPECT_EQ(settings.strategy, "native");
  EXPECT_EQ(settings.sources.at("strategy"), "environment");
  EXPECT_EQ(settings.group_size, 7);
}

TEST_F(Sources, AFileThatWasAskedForAndIsMissingIsAWarning) {
  setenv("CHOIR_CONFIG", "nowhere/choir.toml", 1);
  std::vector<std::string> warnings;
  read(warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(mentions(warnings[0], "nowhere/choir.toml")) << warnings[0];
}

TEST_F(Sources, AMissingDefaultFileIsNone) {
  std::vector<std::string> warnings;
  const auto settings = read(warnings);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(settings.strategy, "auto");
}

TEST_F(Sources, AFileThatIsNotTomlIsIgnoredWithAWarning) {
  const auto path = write("broken.toml", "strategy = 'core_first'\nstats = = yes\n");
  setenv("CHOIR_CONFIG", path.c_str(), 1);
  setenv("CHOIR_STATS", "1", 1);
  std::vector<std::string> warnings;
  const auto settings = read(warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(mentions(warnings[0], path)) << warnings[0];
  EXPECT_EQ(settings.strategy, "auto");
  EXPECT_TRUE(settings.stats) << "the environment still counts";
}

TEST_F(Sources, WhatIsNoConfigurationNeitherEndsNorStopsTheProgram) {
  const auto nested = write("nested.toml", "a = " + std::string(200'000, '['));
  const auto large = write("large.toml", std::string(2 << 20, '#'));
  for (const auto& path : {nested, large, folder_, std::string("/dev/zero")}) {
    setenv("CHOIR_CONFIG", path.c_str(), 1);
    std::vector<std::string> warnings;
    EXPECT_EQ(read(warnings).strategy, "auto");
    ASSERT_EQ(warnings.size(), 1U) << path;
    EXPECT_TRUE(mentions(warnings[0], path + " is ignored")) << warnings[0];
  }
}

TEST_F(Sources, AnEmptyVariableIsNone) {
  const auto path = write("mine.toml", "strategy = 'core_first'\nstats = true\n");
  setenv("CHOIR_CONFIG", path.c_str(), 1);
  setenv("CHOIR_STRATEGY", "", 1);
  setenv("CHOIR_STATS", "", 1);
  std::vector<std::string> warnings;
  const auto settings = read(warnings);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  EXPECT_EQ(settings.strategy, "core_first");
  EXPECT_TRUE(settings.stats);
}

TEST_F(Sources, AWrongFieldOfAStrategyIsAWarning) {
  const auto path = write("typo.toml", "[strategy.mine]\npartion = 'stripes'\n");
  setenv("CHOIR_CONFIG", path.c_str(), 1);
  std::vector<std::string> warnings;
  read(warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(mentions(warnings[0], "strategy.mine.partion")) << warnings[0];
}

TEST_F(Sources, AWrongKeyInTheFileNamesTheFile) {
  const auto path = write("typo.toml", "stratgy = 'native'\n[buffers]\nsize = 3\n");
  setenv("CHOIR_CONFIG", path.c_str(), 1);
  std::vector<std::string> warnings;
  read(warnings);
  ASSERT_EQ(warnings.size(), 2U);
  for (const auto& warning : warnings) EXPECT_TRUE(mentions(warning, path)) << warning;
  EXPECT_TRUE(mentions(warnings[0] + warnings[1], "buffers.size"));
}

}  // namespace
}  // namespace choir
