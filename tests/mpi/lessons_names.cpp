// lessons_names.cpp: the file that was opened stays the file, whatever its name meant or becomes.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lessons.hpp"

namespace choir::test {
namespace {

constexpr int bytes = 6000;
namespace fs = std::filesystem;

Bytes content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder of this check and run alone: ranks work in it, so that names can be relative.
class OwnFolder {
 public:
  explicit OwnFolder(Checks& t) : t_(t), before_(fs::current_path()), folder_(t.path + ".d") {
    if (t.rank == 0) fs::create_directory(folder_);
    MPI_Barrier(MPI_COMM_WORLD);
    folder_ = fs::canonical(folder_);
    enter();
  }
  ~OwnFolder() {
    leave();
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_.rank == 0) fs::remove_all(folder_);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  void enter() const { fs::current_path(folder_); }
  void leave() const { fs::current_path(before_); }
  fs::path operator/(const char* name) const { return folder_ / name; }
  /// Rank 0 does it, while the others wait.
  template <class Action>
  void change(Action&& action) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_.rank == 0) action();
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  Checks& t_;
  fs::path before_, folder_;
};

MPI_File open_named(Checks& t, const char* name) {
  MPI_File fh = MPI_FILE_NULL;
  t.expect_success(MPI_File_open(MPI_COMM_WORLD, name, read_write, MPI_INFO_NULL, &fh), "open");
  return fh;
}

/// Everybody writes through a view and reads it back, collectively and by the host's own call.
void expect_serves(Checks& t, MPI_File fh, int generation) {
  const Bytes mine = pattern(bytes, t.rank + 100 * generation);
  Bytes found(mine.size());
  MPI_Status status;
  set_interleaved_view(t, fh, 60);
  t.expect_success(MPI_File_write_at_all(fh, 0, mine.data(), bytes, MPI_BYTE, &status), "write");
  t.expect_success(MPI_File_read_at_all(fh, 0, found.data(), bytes, MPI_BYTE, &status), "read");
  t.expect(found == mine, "a collective read finds what was written");
  make_visible(t, fh);
  std::fill(found.begin(), found.end(), 0);
  t.expect_success(MPI_File_read_at(fh, 0, found.data(), bytes, MPI_BYTE, &status), "read_at");
  t.expect(found == mine, "the host finds it in its own file");
}

/// What a prefix means is the host's business: a driver, or the beginning of the name.
void expect_prefix(Checks& t, const OwnFolder& folder, const std::string& prefix) {
  const auto literal = prefix + "data";
  const Bytes untouched = pattern(10, 7);
  folder.change([&] {
    for (const auto& name : {literal, std::string("data")})
      std::ofstream(folder / name.c_str(), std::ios::binary)
          .write(reinterpret_cast<const char*>(untouched.data()), 10);
  });
  MPI_File fh = MPI_FILE_NULL;
  if (MPI_File_open(MPI_COMM_WORLD, literal.c_str(), read_write, MPI_INFO_NULL, &fh) != MPI_SUCCESS)
    return;  // the host has no such driver, and says so
  expect_serves(t, fh, 0);
  MPI_File_close(&fh);
  folder.change([&] {
    const bool by_driver = content_of(folder / "data") != untouched;
    const bool by_name = content_of(folder / literal.c_str()) != untouched;
    t.expect(by_driver != by_name, prefix + ": exactly one file is written");
    for (const auto& name : {literal, std::string("data")}) fs::remove(folder / name.c_str());
  });
}

void prefixed_names(Checks& t) {
  const OwnFolder folder(t);
  for (const char* prefix : {"ufs:", "nfs:", "lustre:", "gpfs:", "panfs:", "xfs:", "other:"})
    expect_prefix(t, folder, prefix);
}

/// MPICH's driver of this name keeps no bytes, and only prints what it is asked for.
void driver_without_a_file(Checks& t) {
  const OwnFolder folder(t);
  folder.change([] { std::ofstream("data") << "another"; });
  MPI_File fh = MPI_FILE_NULL;
  if (MPI_File_open(MPI_COMM_WORLD, "testfs:data", read_write, MPI_INFO_NULL, &fh) == MPI_SUCCESS) {
    const Bytes mine = pattern(bytes, t.rank);
    MPI_Status status;
    t.expect_success(MPI_File_write_at_all(fh, MPI_Offset{bytes} * t.rank, mine.data(), bytes,
                                           MPI_BYTE, &status),
                     "write");
    MPI_File_close(&fh);
  }
  folder.change([&] { t.expect(content_of("data").size() == 7, "no file is written"); });
}

void folder_changes(Checks& t) {
  const OwnFolder folder(t);
  MPI_File fh = open_named(t, "data");
  folder.leave();
  expect_serves(t, fh, 1);
  MPI_File_close(&fh);
}

void name_is_removed(Checks& t) {
  const OwnFolder folder(t);
  MPI_File fh = open_named(t, "data");
  folder.change([] { fs::remove("data"); });
  expect_serves(t, fh, 1);
  t.expect(!fs::exists(folder / "data"), "the name does not come back");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&fh);
}

void name_is_taken_by_another(Checks& t) {
  const OwnFolder folder(t);
  MPI_File fh = open_named(t, "data");
  folder.change([] {
    fs::rename("data", "old");
    std::ofstream("data") << "another";
  });
  expect_serves(t, fh, 1);
  MPI_File_close(&fh);
  folder.change([&] {
    t.expect(content_of("data").size() == 7, "the other file is left alone");
    t.expect(content_of("old").size() == std::size_t{bytes} * static_cast<std::size_t>(t.ranks),
             "the renamed file has the bytes");
  });
}

/// Only root can do that; others have nothing to change to.
void user_changes(Checks& t) {
  const OwnFolder folder(t);
  if (::geteuid() != 0) return;
  MPI_File fh = open_named(t, "data");
  folder.change([] { fs::permissions("data", fs::perms::owner_read | fs::perms::owner_write); });
  t.expect(::seteuid(65534) == 0, "seteuid");
  expect_serves(t, fh, 1);
  t.expect(::seteuid(0) == 0, "back to root");
  MPI_File_close(&fh);
}

/// The next descriptor that is asked for is refused.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::open("/dev/null", O_RDONLY);
    rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    ::close(next);
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptorsLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

 private:
  rlimit before_{};
};

void no_descriptors_left(Checks& t) {
  const OwnFolder folder(t);
  MPI_File fh = open_named(t, "data");
  expect_serves(t, fh,
                0);  // MPI libraries open what they need for messages when they first need it
  MPI_File second = open_named(t, "other");
  {
    const NoDescriptorsLeft limit;
    expect_serves(t, second, 1);
  }
  MPI_File_close(&second);
  MPI_File_close(&fh);
}

long mapped_bytes_now() {
  std::ifstream in("/proc/self/statm");
  long pages = 0;
  in >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

/// Without room for a window of the file (`ulimit -v`).
void no_room_for_windows(Checks& t) {
  constexpr MPI_Offset far = MPI_Offset{300} << 20;  // in a window that opening has not mapped
  constexpr rlim_t some_room = 24U << 20;
  OpenFile fh(t, read_write);
  const Bytes mine = pattern(bytes, t.rank);
  Bytes found(mine.size());
  MPI_Status status;
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  const rlimit limit{static_cast<rlim_t>(mapped_bytes_now()) + some_room, before.rlim_max};
  ::setrlimit(RLIMIT_AS, &limit);
  for (const MPI_Offset to : {far, far + 100 * MPI_Offset{bytes}}) {
    const MPI_Offset at = to + t.rank * MPI_Offset{bytes};
    t.expect_success(MPI_File_write_at_all(fh, at, mine.data(), bytes, MPI_BYTE, &status), "write");
    t.expect_success(MPI_File_read_at_all(fh, at, found.data(), bytes, MPI_BYTE, &status), "read");
    t.expect(found == mine, "bytes without a mapping");
    t.expect(count_of(status, MPI_BYTE) == bytes, "their number");
  }
  ::setrlimit(RLIMIT_AS, &before);
}

constexpr NamedCheck checks[] = {
    {"prefixed_names", prefixed_names},
    {"driver_without_a_file", driver_without_a_file},
    {"folder_changes", folder_changes},
    {"name_is_removed", name_is_removed},
    {"name_is_taken_by_another", name_is_taken_by_another},
    {"user_changes", user_changes},
    {"no_descriptors_left", no_descriptors_left},
    {"no_room_for_windows", no_room_for_windows},
};

}  // namespace

std::span<const NamedCheck> lessons_of_names() { return checks; }

}  // namespace choir::test
