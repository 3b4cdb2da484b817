// memory.hpp: what earlier runs found fastest, in one small text file per user.
//
// One line per result, tab-separated:
//   signature(hex) ranks nodes file-system version strategy bytes-per-second unix-date
// Lines that do not parse are skipped on reading and vanish on the next store. Several jobs may
// store at once: a lock file orders them, each merges its results into what is there, and a rename
// makes the new file appear whole. Memory is an aid, so a failure is a returned reason, never an
// exception for the program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace choir::select {

/// Results are comparable only when all of this is equal.
struct MemoryKey {
  std::uint64_t signature = 0;
  int ranks = 0;
  int nodes = 0;
  std::string file_system;  ///< type as the kernel names it, such as "lustre"
  std::string version;      ///< choir's

  auto tie() const { return std::tie(signature, ranks, nodes, file_system, version); }
  bool operator<(const MemoryKey& o) const { return tie() < o.tie(); }
  bool operator==(const MemoryKey& o) const { return tie() == o.tie(); }
};

struct MemoryEntry {
  MemoryKey key;
  std::string strategy;
  double bytes_per_s = 0;
  std::int64_t date_s = 0;  ///< Unix time of the measurement

  bool operator==(const MemoryEntry& o) const {
    return key == o.key && strategy == o.strategy && bytes_per_s == o.bytes_per_s &&
           date_s == o.date_s;
  }
};

/// A value: rank 0 loads it, broadcasts `serialise()`, the others `parse` it.
class Memory {
 public:
  static constexpr std::size_t max_entries = 4096;

  /// The result for `key`; nothing when unknown.
  const MemoryEntry* lookup(const MemoryKey& key) const;
  /// Adds an entry; of two for one key the younger stays. Ignores what could not be written as a
  /// line: an empty name, a throughput that is not positive and finite.
  void add(MemoryEntry entry);
  /// Removes matching entries and returns how many.
  template <class Predicate>
  std::size_t remove_if(Predicate&& matches) {
    return std::erase_if(entries_, [&](const auto& item) { return matches(item.second); });
  }
  /// Keeps the youngest `limit` entries.
  void trim(std::size_t limit = max_entries);

  std::size_t size() const { return entries_.size(); }
  const std::map<MemoryKey, MemoryEntry>& entries() const { return entries_; }

  std::string serialise() const;
  /// Never fails: lines that make no sense are counted in `skipped` and left out.
  static Memory parse(std::string_view text, std::size_t* skipped = nullptr);

 private:
  std::map<MemoryKey, MemoryEntry> entries_;
};

/// $XDG_CACHE_HOME/choir/memory, else $HOME/.cache/choir/memory, else empty: no memory.
std::string default_memory_path();
/// The file that the setting `memory` means; empty: none.
std::string memory_path(const std::string& setting);

/// Local. A missing file is an empty memory; so is an unreadable one, with the reason in `why`.
Memory load_memory(const std::string& path, std::string* why = nullptr);

/// Local. Merges `found` into the file. Returns the reason of a failure, nothing on success.
std::optional<std::string> store_memory(const std::string& path,
                                        const std::vector<MemoryEntry>& found);

/// Local. Rewrites the file without the entries that match; the result is how many went.
struct ForgetResult {
  std::size_t forgotten = 0;
  std::optional<std::string> error;
};
ForgetResult forget_memory(const std::string& path, bool (*matches)(const MemoryEntry&, void*),
                           void* context);

}  // namespace choir::select
