#include "files.hpp"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

namespace choir::compare {
namespace {

namespace fs = std::filesystem;

/// One rank's line; false if it is none of a file.
bool parse(const std::string& line, Use& use, Parts& parts) {
  std::istringstream in(line);
  std::string word;
  if (!std::getline(in, word, '\t') || word != "file" || !std::getline(in, use.how, '\t'))
    return false;
  for (double* part : {&parts.open_s, &parts.calls_s, &parts.close_s}) {
    if (!std::getline(in, word, '\t')) return false;
    *part = std::atof(word.c_str());
  }
  return static_cast<bool>(std::getline(in, use.path));
}

void keep_slower(Parts& kept, const Parts& other) {
  if (other.total() > kept.total()) kept = other;
}

}  // namespace

Parts& Parts::operator+=(const Parts& other) {
  open_s += other.open_s;
  calls_s += other.calls_s;
  close_s += other.close_s;
  return *this;
}

std::string shortened(const std::string& path, const std::string& own, const std::string& here) {
  if (path.starts_with(own + "/")) return "{}" + path.substr(own.size());
  if (path.starts_with(here + "/")) return path.substr(here.size() + 1);
  return path;
}

Records read_records(const fs::path& folder, const std::string& own, const std::string& here) {
  Records records;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    std::map<Use, Parts> mine;
    Parts all;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("existing\t")) records.existing.push_back(line.substr(9));
      Use use;
      Parts parts;
      if (!parse(line, use, parts)) continue;
      use.path = shortened(use.path, own, here);
      mine[use] += parts;
      all += parts;
    }
    for (const auto& [use, parts] : mine) keep_slower(records.files[use], parts);
    keep_slower(records.all, all);
  }
  std::sort(records.existing.begin(), records.existing.end());
  records.existing.erase(std::unique(records.existing.begin(), records.existing.end()),
                         records.existing.end());
  return records;
}

void move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return;
  if (error != std::errc::cross_device_link)
    throw fs::filesystem_error("cannot set aside", from, to, error);
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  fs::remove(from);
}

std::int64_t first_difference(const fs::path& a, const fs::path& b) {
  constexpr std::size_t kWindow = 1 << 20;
  std::ifstream one(a, std::ios::binary), other(b, std::ios::binary);
  if (!one || !other)
    throw std::system_error(errno, std::generic_category(), (one ? b : a).string());
  std::vector<char> left(kWindow), right(kWindow);
  for (std::int64_t at = 0;;) {
    one.read(left.data(), kWindow);
    other.read(right.data(), kWindow);
    if (one.bad() || other.bad()) throw std::system_error(EIO, std::generic_category(), a.string());
    const auto got = static_cast<std::size_t>(std::min(one.gcount(), other.gcount()));
    if (std::memcmp(left.data(), right.data(), got) != 0)
      return at + (std::mismatch(left.begin(), left.end(), right.begin()).first - left.begin());
    if (one.gcount() != other.gcount()) return at + static_cast<std::int64_t>(got);
    if (got < kWindow) return -1;
    at += static_cast<std::int64_t>(got);
  }
}

std::vector<std::string> matching(const std::vector<std::string>& patterns) {
  std::vector<std::string> all;
  for (const auto& pattern : patterns) {
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
      for (std::size_t i = 0; i < found.gl_pathc; ++i)
        if (fs::is_regular_file(found.gl_pathv[i])) all.emplace_back(found.gl_pathv[i]);
    globfree(&found);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace choir::compare
