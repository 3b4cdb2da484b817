// mapping.hpp: the parts of a file a rank keeps mapped, and the blocks it knows to be there.
//
// Making a page writable costs about as much as copying into it, and asking the file system for
// blocks costs more than a small call. A file that is written again and again in place pays both
// once: windows stay mapped until the limit is reached, and what was reserved is remembered.
#pragma once

#include <bitset>
#include <optional>
#include <vector>

#include "access/extent_set.hpp"

namespace choir {

class FileMapping {
 public:
  static constexpr std::int64_t window_bytes = std::int64_t{64} << 20;
  /// What populate() does at once; it leaves shorter parts to the page faults.
  static constexpr std::int64_t block_bytes = std::int64_t{64} << 10;

  explicit FileMapping(std::int64_t most_bytes) : most_bytes_(most_bytes) {}
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  /// The file's size now, which others may have changed; -1: errno says why not.
  static std::int64_t size(int fd);
  /// Sees to it that the device has blocks for `span` and the file reaches its end, so that no
  /// store meets a full disk or is lost. An errno number; 0: done. EOPNOTSUPP: the file system
  /// cannot, and nothing may be stored.
  int reserve(int fd, Extent span);
  bool is_reserved(int fd, Extent span) const;
  /// The program has filled `span` by other means: the device has what it needs for it.
  void note_filled(Extent span) { reserved_.add(span); }
  /// Blocks may be gone: somebody has set the file's size.
  void forget_reserved() { reserved_.clear(); }

  /// File byte x of `range` lives at base + x.
  struct View {
    char* base = nullptr;  ///< null: `error` says why
    Extent range;
    int error = 0;
  };
  View view(int fd, std::int64_t offset);
  /// Makes the pages of `part` of a view writable in one go, where they have not been before. For
  /// loads there is nothing to be gained: there each page fault brings a block of pages.
  void populate(const View& view, Extent part);
  /// The same by the page faults of the stores that follow. Bytes that have not been writable
  /// before.
  std::int64_t leave_to_faults(const View& view, Extent part);
  /// Whether a fault of a store brings a block of pages, too, as it does where the kernel keeps a
  /// file in large pieces: then they are faster than populate(). Nothing: nobody has looked yet.
  std::optional<bool> faults_bring_blocks() const { return faults_bring_blocks_; }
  /// Stores to so many bytes that were in memory, but not writable in the mapping, met so many
  /// faults.
  void note_faults(std::int64_t bytes, std::int64_t faults);

 private:
  using Blocks = std::bitset<window_bytes / block_bytes>;

  struct Window {
    std::int64_t number = 0;  ///< of window_bytes from the file's start
    char* address = nullptr;
    std::uint64_t used = 0;
    Blocks writable;  ///< blocks made so, or left to the faults of stores, so far
  };

  Window* find(std::int64_t number);
  /// Whole blocks of `part` that nobody has made writable yet, in stretches; from now on they are.
  template <class Visit>
  void take_new_blocks(const View& view, Extent part, Visit&& visit);
  int add(int fd, std::int64_t number);
  void drop_oldest();

  std::int64_t most_bytes_;
  std::uint64_t uses_ = 0;
  std::vector<Window> windows_;
  ExtentSet reserved_;
  std::optional<bool> faults_bring_blocks_;
};

}  // namespace choir
