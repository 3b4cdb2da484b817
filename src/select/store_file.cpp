// store_file.cpp: the user's file: where it is, its lock, its replacement.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "files/output.hpp"
#include "files/trust.hpp"
#include "select/store.hpp"
#include "select/store_text.hpp"

namespace choir::select {
namespace {

constexpr std::size_t max_file_bytes = 16 << 20;

std::string failure(const char* doing, const std::string& path) {
  return std::string("cannot ") + doing + " " + path + ": " + files::reason(errno);
}

bool try_lock(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

/// For a user at the terminal, who would rather wait two seconds than read that it was in vain.
bool lock_patiently(int fd) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (try_lock(fd)) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  errno = EWOULDBLOCK;
  return false;
}

/// Appears whole, but is not forced to the disk: after a crash of the machine the worst is to
/// measure again.
std::optional<std::string> replace_file(const std::string& path, const std::string& text) {
  auto temporary = path + ".XXXXXX";
  const files::Descriptor out(::mkstemp(temporary.data()));
  if (out.get() < 0) return failure("create", temporary);
  if (!files::write_all(out.get(), text) || ::rename(temporary.c_str(), path.c_str()) != 0) {
    auto why = failure("write", path);
    ::unlink(temporary.c_str());
    return why;
  }
  return std::nullopt;
}

/// Replacing a link would break it, and writing through it is for its owner to decide. Sets errno.
bool is_link(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return false;
  errno = ELOOP;
  return true;
}

/// Under the lock; `locked` false: somebody else has it.
template <class Lock, class Change>
std::optional<std::string> update(const std::string& path, Lock lock_file, bool& locked,
                                  Change&& change) {
  if (path.empty()) return "no place for the memory: neither XDG_CACHE_HOME nor HOME is set";
  if (is_link(path)) return failure("write", path);
  if (const auto cut = path.rfind('/'); cut != std::string::npos && cut > 0)
    if (!files::make_folders(path.substr(0, cut), 0700))
      return failure("create", path.substr(0, cut));
  const auto lock_path = path + ".lock";
  const files::Descriptor lock(files::open_own(lock_path, 0600));
  if (lock.get() < 0) return failure("open", lock_path);
  locked = lock_file(lock.get());
  if (!locked) return failure("lock", lock_path);
  std::string unreadable;
  Store store = load_store(path, &unreadable);
  if (!unreadable.empty()) return unreadable;  // rather keep a file we cannot read than lose it
  change(store);
  return replace_file(path, store.text());
}

}  // namespace

std::optional<std::string> Store::save(const std::string& path, std::int64_t now_s) {
  if (unsaved_.empty() || path.empty()) return std::nullopt;
  bool locked = true;
  auto error = update(path, try_lock, locked, [&](Store& there) {
    for (const auto& [key, difference] : unsaved_) {
      auto& evidence = there.all_[key];
      age_to(evidence, now_s);
      difference.merge_into(evidence);
      evidence.date_s = now_s;
    }
    there.trim();
  });
  if (!locked && errno == EWOULDBLOCK) return std::nullopt;
  if (!error) unsaved_.clear();
  return error;
}

std::string default_memory_path() {
  // The XDG rules: a relative path is to be ignored.
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/choir/memory";
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return std::string(home) + "/.cache/choir/memory";
  return {};
}

std::string memory_path(const std::string& setting) {
  if (setting == "off") return {};
  return setting == "on" ? default_memory_path() : setting;
}

Store load_store(const std::string& path, std::string* why) {
  if (path.empty()) return {};
  const files::Descriptor in(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (in.get() < 0) {
    if (errno != ENOENT && why) *why = failure("open", path);
    return {};
  }
  struct stat info {};
  if (::fstat(in.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    if (why) *why = path + " is no file";
    return {};
  }
  std::string text;
  char piece[16384];
  while (text.size() < max_file_bytes) {
    const auto n = ::read(in.get(), piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (why) *why = failure("read", path);
      return {};
    }
    if (n == 0) break;
    text.append(piece, static_cast<std::size_t>(n));
  }
  std::size_t skipped = 0;
  auto store = Store::parse(text, &skipped);
  // Somebody may have named the wrong file: it must not be replaced.
  if (why && skipped > 0 && store.all().empty()) *why = path + " is no memory of choir's";
  return store;
}

ForgetResult forget(const std::string& path,
                    const std::function<bool(const Store::Key&, const Evidence&)>& matches) {
  ForgetResult result;
  bool locked = true;
  result.error = update(path, lock_patiently, locked,
                        [&](Store& store) { result.forgotten = store.remove_if(matches); });
  return result;
}

}  // namespace choir::select
