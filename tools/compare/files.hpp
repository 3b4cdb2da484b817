// files.hpp: what a run did to files: the clock's records, setting files aside, comparing bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace choir::compare {

/// Seconds of one rank, or of the slowest.
struct Parts {
  double open_s = 0, calls_s = 0, close_s = 0;
  double total() const { return open_s + calls_s + close_s; }
  Parts& operator+=(const Parts& other);
};

/// What was done with a file: its path, with {} for the run's own folder, and "written" or "read".
struct Use {
  std::string path;
  std::string how;
  auto operator<=>(const Use&) const = default;
};

struct Records {
  std::map<Use, Parts> files;         ///< of the slowest rank of each
  Parts all;                          ///< of the rank that spent most in all files together
  std::vector<std::string> existing;  ///< what the guard refused to overwrite
};

/// What the clock wrote into `folder`. `own` is replaced by {} in paths, `here` is left out of
/// them.
Records read_records(const std::filesystem::path& folder, const std::string& own,
                     const std::string& here);

/// A path without the folder it begins with: "out.data" for "/home/me/out.data" in /home/me.
std::string shortened(const std::string& path, const std::string& own, const std::string& here);

/// Takes `from` to `to`, also between file systems. Throws std::filesystem::filesystem_error.
void move_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// The first offset at which two files differ, -1 if they are equal. Where one is shorter, its end.
/// Throws std::system_error.
std::int64_t first_difference(const std::filesystem::path& a, const std::filesystem::path& b);

/// Files that match a pattern of the shell.
std::vector<std::string> matching(const std::vector<std::string>& patterns);

}  // namespace choir::compare
