// machine_file_test.cpp: what choir measure writes is read again, and nothing that is damaged.
#include "settings/machine_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "settings/machines.hpp"

namespace choir {
namespace {

MachineFile a_machine() {
  MachineFile machine;
  machine.date = "2026-11-19";
  machine.host = {"AMD EPYC 7763 64-Core Processor", 64, "6.1"};
  machine.file_system = "ext4";
  machine.mount = "/scratch disk";
  machine.costs.measured = true;
  machine.costs.copy = {1.5e-11, 1.0 / 3 * 1e-9};
  machine.costs.write_new.per_request = {5e-6, -2e-6};  // many at once hinder each other
  machine.costs.meeting = 7.25e-6;
  return machine;
}

/// Why it is refused; empty if it is not.
std::string complaint(const std::string& text) {
  try {
    parse_machine(text);
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

/// The text with one line replaced, or left out.
std::string with_line(const std::string& name, const std::string& line) {
  std::istringstream in(serialise(a_machine()));
  std::string text;
  for (std::string old; std::getline(in, old);) {
    const bool found = old.rfind(name + " =", 0) == 0;
    if (!found) text += old + "\n";
    if (found && !line.empty()) text += line + "\n";
  }
  return text;
}

TEST(MachineFile, WhatWasWrittenIsReadBitForBit) {
  const auto written = a_machine(), read = parse_machine(serialise(written));
  EXPECT_EQ(read.costs, written.costs);
  EXPECT_EQ(read.host, written.host);
  EXPECT_EQ(read.date, written.date);
  EXPECT_EQ(read.file_system, written.file_system);
  EXPECT_EQ(read.mount, written.mount);
}

TEST(MachineFile, CommentsEmptyLinesAndCarriageReturnsDoNotMatter) {
  EXPECT_EQ(complaint("# hello\r\n\r\n" + serialise(a_machine())), "");
}

TEST(MachineFile, WhatIsMissingTwiceThereOrUnknownIsNamed) {
  EXPECT_NE(complaint(with_line("read_byte", "")).find("'read_byte' is missing"),
            std::string::npos);
  EXPECT_NE(complaint(with_line("mount", "mount =")).find("'mount' is missing"), std::string::npos);
  EXPECT_NE(complaint(serialise(a_machine()) + "meeting = 1e-6\n").find("twice"),
            std::string::npos);
  EXPECT_NE(complaint(serialise(a_machine()) + "moon = 1\n").find("'moon'"), std::string::npos);
  EXPECT_NE(complaint(serialise(a_machine()) + "a line\n").find("no 'name = value'"),
            std::string::npos);
}

TEST(MachineFile, FiguresThatCannotBeAreRefused) {
  for (const char* const value : {"nan 0", "0 inf", "1e-9", "1e-9 0 0", "-1e-9 2e-9", "1e-9 -2e-9",
                                  "5 0", "0,1 0", "1e-9x 0", "", "0x1 0", "1e-999 0"})
    EXPECT_NE(complaint(with_line("read_byte", std::string("read_byte = ") + value)), "") << value;
  for (const char* const value : {"0", "-2", "2.5", "many", "99999999999999999999"})
    EXPECT_NE(complaint(with_line("cores", std::string("cores = ") + value)), "") << value;
}

TEST(MachineFile, AnotherFormatSaysWhatToDo) {
  EXPECT_NE(complaint(with_line("format", "format = choir-machine 2")).find("measure again"),
            std::string::npos);
}

/// A file that was cut off anywhere is refused; so is one with a byte that is another.
RC_GTEST_PROP(MachineFileProperty, NothingCutOffIsTaken, ()) {
  const auto text = serialise(a_machine());
  const auto end = *rc::gen::inRange<std::size_t>(0, text.size() - 8);
  RC_ASSERT(complaint(text.substr(0, end)) != "");
}

RC_GTEST_PROP(MachineFileProperty, DamageIsRefusedOrHarmless, ()) {
  auto text = serialise(a_machine());
  text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  try {
    const auto machine = parse_machine(text);
    RC_ASSERT(machine.costs.copy.at(1) >= 0);
    RC_ASSERT(machine.costs.write_new.per_request.at(64) >= 0);
    RC_ASSERT(machine.host.cores > 0);
  } catch (const std::runtime_error&) {
  }
}

// ---- which of them count

/// Machine files of this process's own, below a folder that XDG_CONFIG_HOME names.
class MachinesOf : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/choir-machines-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    home_ = name;
    setenv("XDG_CONFIG_HOME", name, 1);
    std::filesystem::create_directories(user_machine_folder());
    here_ = a_machine();
    here_.mount = "/";
    struct stat info {};
    ASSERT_EQ(stat("/", &info), 0);
    device_ = static_cast<std::int64_t>(info.st_dev);
  }
  void TearDown() override {
    std::filesystem::remove_all(home_);
    unsetenv("XDG_CONFIG_HOME");
  }
  std::string put(const std::string& name, const std::string& text) {
    const auto path = user_machine_folder() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  std::string home_;
  MachineFile here_;
  std::int64_t device_ = 0;
};

TEST_F(MachinesOf, ThisKindOfNodeAndMountAreUsed) {
  put("a.machine", serialise(here_));
  Machines machines("auto", here_.host);
  const auto* const costs = machines.costs_for(device_);
  ASSERT_NE(costs, nullptr);
  EXPECT_TRUE(costs->measured);
  EXPECT_EQ(*costs, here_.costs);
  EXPECT_TRUE(machines.take_warnings().empty());
}

TEST_F(MachinesOf, AnotherKindOfNodeIsSaidOnceAndNotUsed) {
  put("a.machine", serialise(here_));
  auto other = here_.host;
  other.cores = 2;
  Machines machines("auto", other);
  EXPECT_EQ(machines.costs_for(device_), nullptr);
  const auto said = machines.take_warnings();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said.front().find("another kind of node"), std::string::npos);
  EXPECT_EQ(machines.costs_for(device_), nullptr);
  EXPECT_TRUE(machines.take_warnings().empty());
}

TEST_F(MachinesOf, OthersNodesAreNoMatterWhereThisOneIsKnown) {
  auto other = here_;
  other.host.cores = 2;
  put("a.machine", serialise(other));
  put("b.machine", serialise(here_));
  Machines machines("auto", here_.host);
  EXPECT_NE(machines.costs_for(device_), nullptr);
  EXPECT_TRUE(machines.take_warnings().empty());
}

TEST_F(MachinesOf, AnotherMountIsSaidOnceAndNotUsed) {
  put("a.machine", serialise(here_));
  Machines machines("auto", here_.host);
  EXPECT_EQ(machines.costs_for(device_ + 1), nullptr);
  EXPECT_EQ(machines.costs_for(device_ + 2), nullptr);
  const auto said = machines.take_warnings();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said.front().find("other mounts"), std::string::npos);
}

TEST_F(MachinesOf, ADamagedFileIsSaidAndTheOthersCount) {
  put("a.machine", "garbage");
  put("b.machine", serialise(here_));
  put("notes.txt", "garbage");
  Machines machines("auto", here_.host);
  EXPECT_NE(machines.costs_for(device_), nullptr);
  const auto said = machines.take_warnings();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said.front().find("a.machine"), std::string::npos);
}

TEST_F(MachinesOf, TheSettingNamesAFileOrTurnsThemOff) {
  const auto path = put("mine", serialise(here_));
  EXPECT_NE(Machines(path, here_.host).costs_for(device_), nullptr);
  put("a.machine", serialise(here_));
  EXPECT_EQ(Machines("off", here_.host).costs_for(device_), nullptr);
  Machines missing(home_ + "/no.machine", here_.host);
  EXPECT_EQ(missing.costs_for(device_), nullptr);
  EXPECT_EQ(missing.take_warnings().size(), 1U);
}

TEST(Host, IsKnown) {
  const auto host = host_kind_here();
  EXPECT_FALSE(host.cpu.empty());
  EXPECT_GT(host.cores, 0);
  EXPECT_EQ(std::count(host.kernel.begin(), host.kernel.end(), '.'), 1);
  EXPECT_EQ(mount_of("/"), "/");
  EXPECT_THROW(mount_of("/there/is/no/such/folder"), std::runtime_error);
}

}  // namespace
}  // namespace choir
