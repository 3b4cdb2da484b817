// memory.cpp: parsing, and storing under a lock.
#include "select/memory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "files/output.hpp"
#include "files/trust.hpp"

namespace choir::select {

namespace {

constexpr std::size_t max_file_bytes = 4 << 20;

std::string failure(const char* doing, const std::string& path) {
  return std::string("cannot ") + doing + " " + path + ": " + files::reason(errno);
}

/// Names come from the kernel and from configuration files: keep the line format safe.
std::string one_word(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) c = '_';
  return text.empty() ? "-" : text;
}

template <class Number>
bool to_number(std::string_view text, Number& out, int base = 10) {
  const auto end = text.data() + text.size();
  if constexpr (std::is_floating_point_v<Number>) {
    const auto [at, error] = std::from_chars(text.data(), end, out);
    return error == std::errc{} && at == end;
  } else {
    const auto [at, error] = std::from_chars(text.data(), end, out, base);
    return error == std::errc{} && at == end;
  }
}

std::vector<std::string_view> split(std::string_view line, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto cut = line.find(at);
    parts.push_back(line.substr(0, cut));
    if (cut == std::string_view::npos) return parts;
    line.remove_prefix(cut + 1);
  }
}

std::optional<MemoryEntry> parse_line(std::string_view line) {
  const auto parts = split(line, '\t');
  if (parts.size() != 8) return std::nullopt;
  MemoryEntry e;
  const bool numbers = to_number(parts[0], e.key.signature, 16) &&
                       to_number(parts[1], e.key.ranks) && to_number(parts[2], e.key.nodes) &&
                       to_number(parts[6], e.bytes_per_s) && to_number(parts[7], e.date_s);
  if (!numbers || e.key.ranks < 1 || e.key.nodes < 1) return std::nullopt;
  if (!(e.bytes_per_s > 0) || !std::isfinite(e.bytes_per_s)) return std::nullopt;
  e.key.file_system = parts[3];
  e.key.version = parts[4];
  e.strategy = parts[5];
  if (e.key.file_system.empty() || e.key.version.empty() || e.strategy.empty()) return std::nullopt;
  return e;
}

std::string format_line(const MemoryEntry& e) {
  char head[80], tail[80];
  std::snprintf(head, sizeof head, "%016llx\t%d\t%d\t",
                static_cast<unsigned long long>(e.key.signature), e.key.ranks, e.key.nodes);
  std::snprintf(tail, sizeof tail, "\t%.17g\t%lld\n", e.bytes_per_s,
                static_cast<long long>(e.date_s));
  return head + e.key.file_system + '\t' + e.key.version + '\t' + e.strategy + tail;
}

/// Waits at most two seconds: a job must not hang at exit because of a stuck neighbour.
bool lock_briefly(int fd) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  errno = EWOULDBLOCK;
  return false;
}

std::optional<std::string> replace_file(const std::string& path, const std::string& text) {
  auto temporary = path + ".XXXXXX";
  const files::Descriptor out(::mkstemp(temporary.data()));
  if (out.get() < 0) return failure("create", temporary);
  if (!files::write_all(out.get(), text) || ::fsync(out.get()) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
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

std::optional<std::string> update(const std::string& path,
                                  const std::function<void(Memory&)>& change) {
  if (path.empty()) return "no place for the memory: neither XDG_CACHE_HOME nor HOME is set";
  if (is_link(path)) return failure("write", path);
  if (const auto cut = path.rfind('/'); cut != std::string::npos && cut > 0)
    if (!files::make_folders(path.substr(0, cut), 0700))
      return failure("create", path.substr(0, cut));
  const auto lock_path = path + ".lock";
  const files::Descriptor lock(files::open_own(lock_path, 0600));
  if (lock.get() < 0) return failure("open", lock_path);
  if (!lock_briefly(lock.get())) return failure("lock", lock_path);
  std::string unreadable;
  Memory memory = load_memory(path, &unreadable);
  if (!unreadable.empty()) return unreadable;  // rather keep a file we cannot read than lose it
  change(memory);
  memory.trim();
  return replace_file(path, memory.serialise());
}

}  // namespace

const MemoryEntry* Memory::lookup(const MemoryKey& key) const {
  MemoryKey written = key;
  written.file_system = one_word(key.file_system);
  written.version = one_word(key.version);
  const auto found = entries_.find(written);
  return found == entries_.end() ? nullptr : &found->second;
}

void Memory::add(MemoryEntry entry) {
  if (entry.strategy.empty() || !(entry.bytes_per_s > 0) || !std::isfinite(entry.bytes_per_s))
    return;
  if (entry.key.ranks < 1 || entry.key.nodes < 1) return;
  entry.key.file_system = one_word(std::move(entry.key.file_system));
  entry.key.version = one_word(std::move(entry.key.version));
  entry.strategy = one_word(std::move(entry.strategy));
  const auto found = entries_.find(entry.key);
  if (found == entries_.end())
    entries_.emplace(entry.key, std::move(entry));
  else if (entry.date_s >= found->second.date_s)
    found->second = std::move(entry);
}

void Memory::trim(std::size_t limit) {
  if (entries_.size() <= limit) return;
  std::vector<std::pair<std::int64_t, MemoryKey>> by_age;
  by_age.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) by_age.emplace_back(entry.date_s, key);
  std::sort(by_age.begin(), by_age.end());
  by_age.resize(entries_.size() - limit);
  for (const auto& [date, key] : by_age) entries_.erase(key);
}

std::string Memory::serialise() const {
  std::string text;
  for (const auto& [key, entry] : entries_) text += format_line(entry);
  return text;
}

Memory Memory::parse(std::string_view text, std::size_t* skipped) {
  Memory memory;
  std::size_t bad = 0;
  for (const auto line : split(text, '\n')) {
    if (line.empty()) continue;
    if (auto entry = parse_line(line))
      memory.add(std::move(*entry));
    else
      ++bad;
  }
  if (skipped) *skipped = bad;
  memory.trim();
  return memory;
}

Memory load_memory(const std::string& path, std::string* why) {
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
  auto memory = Memory::parse(text, &skipped);
  // Somebody may have named the wrong file: it must not be replaced.
  if (why && skipped > 0 && memory.entries().empty()) *why = path + " is no memory of choir's";
  return memory;
}

std::optional<std::string> store_memory(const std::string& path,
                                        const std::vector<MemoryEntry>& found) {
  if (found.empty()) return std::nullopt;
  return update(path, [&](Memory& memory) {
    for (const auto& entry : found) memory.add(entry);
  });
}

ForgetResult forget_memory(const std::string& path, bool (*matches)(const MemoryEntry&, void*),
                           void* context) {
  ForgetResult result;
  result.error = update(path, [&](Memory& memory) {
    result.forgotten =
        memory.remove_if([&](const MemoryEntry& entry) { return matches(entry, context); });
  });
  return result;
}

}  // namespace choir::select
