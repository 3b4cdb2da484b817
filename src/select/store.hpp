// store.hpp: what this process knows of all classes, and the user's file that keeps it between
// runs.
//
// The process that is rank 0 of a file owns what is known of it, whatever communicators come and
// go: it sends the lines of the file's site when the file is opened, and adds what was learned when
// it is closed.
//
// The file is text, one line for a site and class. What is written is merged with what is there, so
// that jobs at the same time add to each other. Nobody waits: a lock that is taken is tried again
// another time, and nothing is forced to the disk.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "select/book.hpp"

namespace choir::select {

class Store {
 public:
  using Key = std::pair<Site, ClassKey>;
  static constexpr std::size_t most_classes = 4096;
  /// Of one site, those used last.
  static constexpr std::size_t most_sent = 24;

  /// The lines for a file of this site, aged to `now_s` (Unix time).
  std::string lines_for(const Site& site, std::int64_t now_s) const;
  void add(const Site& site, std::map<ClassKey, Difference> differences, std::int64_t now_s);

  const std::map<Key, Evidence>& all() const { return all_; }
  template <class Predicate>
  std::size_t remove_if(Predicate&& matches) {
    return std::erase_if(all_, [&](const auto& one) { return matches(one.first, one.second); });
  }
  /// What the user's file says of classes about which nothing is known yet.
  void read_also(const Store& file) { all_.insert(file.all_.begin(), file.all_.end()); }
  bool unsaved() const { return !unsaved_.empty(); }

  std::string text() const;
  /// Never fails: lines that make no sense are counted and left out. Those of earlier versions are
  /// left out without being counted.
  static Store parse(std::string_view text, std::size_t* skipped = nullptr);

  /// Local. Merges what the file holds now with what was added since the last time, and writes it.
  /// The reason of a failure; nothing on success, and where another process is writing.
  std::optional<std::string> save(const std::string& path, std::int64_t now_s);

 private:
  void trim();

  struct Unsaved {
    Key key;
    Difference difference;
  };
  std::map<Key, Evidence> all_;
  std::vector<Unsaved> unsaved_;
};

/// The evidence of a class among the lines of one site; empty evidence if there is none.
Evidence find_line(std::string_view lines, const ClassKey& key);

/// $XDG_CACHE_HOME/choir/memory, else $HOME/.cache/choir/memory, else empty: no memory.
std::string default_memory_path();
/// The file that the setting `memory` means; empty: none.
std::string memory_path(const std::string& setting);

/// Local. A missing file is an empty store; so is an unreadable one, with the reason in `why`.
Store load_store(const std::string& path, std::string* why = nullptr);

/// Local. Rewrites the file without the entries that match; waits for its lock a moment.
struct ForgetResult {
  std::size_t forgotten = 0;
  std::optional<std::string> error;
};
ForgetResult forget(const std::string& path,
                    const std::function<bool(const Store::Key&, const Evidence&)>& matches);

}  // namespace choir::select
