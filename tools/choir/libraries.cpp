#include "libraries.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace choir::command {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& list, const char* separators) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < list.size();) {
    const auto end = std::min(list.find_first_of(separators, at), list.size());
    if (end > at) parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// $ORIGIN is the folder of the file that names it. $LIB differs between distributions: both are
/// tried by the caller.
std::string expand(std::string folder, const std::string& origin) {
  for (const std::string token : {"$ORIGIN", "${ORIGIN}"})
    for (auto at = folder.find(token); at != std::string::npos;
         at = folder.find(token, at + origin.size()))
      folder.replace(at, token.size(), origin);
  return folder;
}

/// A library of another architecture is passed over, as the loader does.
bool loadable(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  try {
    const auto elf = read_elf(path);
    return elf && !elf->foreign;
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string in_folders(const std::vector<std::string>& folders, const std::string& name,
                       const std::string& origin) {
  for (const auto& folder : folders)
    if (auto path = expand(folder, origin) + "/" + name; loadable(path)) return path;
  return {};
}

// The format of glibc's ldconfig since 2.2: a header, entries, and strings at offsets from the
// header's beginning.
struct CacheHeader {
  char magic[20];
  std::uint32_t entries, string_bytes;
  std::uint8_t flags, padding[3];
  std::uint32_t extension;
  std::uint32_t unused[3];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t key, value, os_version;
  std::uint64_t hardware;
};
constexpr char cache_magic[] = "glibc-ld.so.cache1.1";
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);

}  // namespace

LibrarySearch::LibrarySearch() {
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) environment_ = split(path, ":;");
  read_cache();
}

void LibrarySearch::read_cache() {
  std::ifstream in("/etc/ld.so.cache", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto start = text.find(cache_magic);  // an old-format part may come first
  if (start == std::string::npos || text.size() - start < sizeof(CacheHeader)) return;
  const std::string cache = text.substr(start);
  CacheHeader header;
  std::memcpy(&header, cache.data(), sizeof header);
  if (header.entries > (cache.size() - sizeof header) / sizeof(CacheEntry)) return;
  for (std::size_t i = 0; i < header.entries; ++i) {
    CacheEntry entry;
    std::memcpy(&entry, cache.data() + sizeof header + i * sizeof entry, sizeof entry);
    if (entry.key >= cache.size() || entry.value >= cache.size()) continue;
    // c_str() ends at the string's own end; several entries of one name come best first.
    cache_.emplace(cache.c_str() + entry.key, cache.c_str() + entry.value);
  }
}

std::string LibrarySearch::find(const std::string& name, const Elf& by, const std::string& origin,
                                const std::vector<std::string>& inherited) const {
  if (name.find('/') != std::string::npos) return loadable(name) ? name : std::string();
  for (const auto* folders : {&by.rpath, &inherited, &environment_, &by.runpath})
    if (auto path = in_folders(*folders, name, origin); !path.empty()) return path;
  if (const auto cached = cache_.find(name); cached != cache_.end() && loadable(cached->second))
    return cached->second;
  return in_folders({"/lib64", "/usr/lib64", "/lib", "/usr/lib"}, name, origin);
}

Libraries libraries_of(const std::string& program, const Elf& elf) {
  struct Pending {
    std::string path;
    Elf elf;
    std::vector<std::string> rpath;  // of those that loaded it, with $ORIGIN resolved
  };
  const LibrarySearch search;
  Libraries found;
  std::vector<Pending> pending{{program, elf, {}}};
  while (!pending.empty()) {
    const auto by = std::move(pending.back());
    pending.pop_back();
    std::error_code error;
    const auto origin = fs::weakly_canonical(by.path, error).parent_path().string();
    auto rpath = by.rpath;
    for (const auto& folder : by.elf.rpath) rpath.push_back(expand(folder, origin));
    for (const auto& name : by.elf.needed) {
      if (found.contains(name)) continue;
      const auto path = search.find(name, by.elf, origin, by.rpath);
      found[name] = path;
      if (!path.empty()) pending.push_back({path, *read_elf(path), rpath});
    }
  }
  return found;
}

}  // namespace choir::command
