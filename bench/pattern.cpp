// pattern.cpp: see pattern.hpp.
#include "pattern.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace choir::bench {

namespace {

constexpr std::int64_t kWord = 8;
constexpr std::int64_t kWindow = 4 << 20;  // bytes of the file looked at at once

std::uint64_t word_at(std::int64_t index, std::uint64_t generation) {
  auto x = (static_cast<std::uint64_t>(index) + generation * 0x632be59bd9b4e019ULL) *
           0x9e3779b97f4a7c15ULL;
  return x ^ (x >> 29);
}

/// Calls visit(position in the range, bytes, address of the expected bytes) for word-sized parts of
/// the range.
template <class Visit>
void each_word(std::int64_t offset, std::int64_t length, std::uint64_t generation, Visit&& visit) {
  std::int64_t done = 0;
  while (done < length) {
    const auto at = offset + done;
    const auto skip = at % kWord;
    const auto part = std::min(kWord - skip, length - done);
    const auto word = word_at(at / kWord, generation);
    if (!visit(done, part, reinterpret_cast<const char*>(&word) + skip)) return;
    done += part;
  }
}

/// pread until `length` bytes or the end of file; the rest reads as zero.
void read_window(int fd, char* out, std::int64_t offset, std::int64_t length) {
  std::int64_t done = 0;
  while (done < length) {
    const auto got = pread(fd, out + done, static_cast<std::size_t>(length - done), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), "verification read");
    if (got == 0) break;
    done += got;
  }
  std::memset(out + done, 0, static_cast<std::size_t>(length - done));
}

}  // namespace

void fill_pattern(char* out, std::int64_t offset, std::int64_t length, std::uint64_t generation) {
  each_word(offset, length, generation, [&](std::int64_t at, std::int64_t part, const char* word) {
    if (part == kWord)
      std::memcpy(out + at, word, kWord);
    else
      std::memcpy(out + at, word, static_cast<std::size_t>(part));
    return true;
  });
}

std::int64_t find_mismatch(const char* bytes, std::int64_t offset, std::int64_t length,
                           std::uint64_t generation) {
  std::int64_t wrong = -1;
  each_word(offset, length, generation, [&](std::int64_t at, std::int64_t part, const char* word) {
    const bool equal = part == kWord
                           ? std::memcmp(bytes + at, word, kWord) == 0
                           : std::memcmp(bytes + at, word, static_cast<std::size_t>(part)) == 0;
    if (equal) return true;
    std::int64_t i = 0;
    while (bytes[at + i] == word[i]) ++i;
    wrong = offset + at + i;
    return false;
  });
  return wrong;
}

void fill_buffer(const Program& program, char* buffer, std::uint64_t generation) {
  for (const auto& call : program.calls)
    walk_together(call.file, call.memory,
                  [&](std::int64_t at, std::int64_t in_buffer, std::int64_t length) {
                    fill_pattern(buffer + in_buffer, at, length, generation);
                  });
}

std::int64_t check_buffer(const Program& program, const char* buffer, std::uint64_t generation) {
  std::int64_t wrong = -1;
  for (const auto& call : program.calls)
    walk_together(call.file, call.memory,
                  [&](std::int64_t at, std::int64_t in_buffer, std::int64_t length) {
                    if (wrong < 0)
                      wrong = find_mismatch(buffer + in_buffer, at, length, generation);
                  });
  return wrong;
}

std::int64_t check_file_range(int fd, std::int64_t begin, std::int64_t end,
                              std::uint64_t generation) {
  std::vector<char> window(
      static_cast<std::size_t>(std::clamp<std::int64_t>(end - begin, 0, kWindow)));
  for (auto at = begin; at < end; at += kWindow) {
    const auto length = std::min(kWindow, end - at);
    read_window(fd, window.data(), at, length);
    const auto wrong = find_mismatch(window.data(), at, length, generation);
    if (wrong >= 0) return wrong;
  }
  return -1;
}

std::int64_t check_file_pieces(int fd, const Program& program, std::uint64_t generation) {
  std::vector<char> window(kWindow);
  std::int64_t window_begin = -kWindow;  // the window holds [window_begin, + kWindow)
  for (const auto& call : program.calls) {
    for (const auto& piece : call.file) {
      for (std::int64_t block = 0; block < piece.count; ++block) {
        auto at = piece.offset + block * piece.stride;
        for (auto left = piece.length; left > 0;) {
          if (at < window_begin || at >= window_begin + kWindow) {
            window_begin = at;
            read_window(fd, window.data(), at, kWindow);
          }
          const auto length = std::min(left, window_begin + kWindow - at);
          const auto wrong =
              find_mismatch(window.data() + (at - window_begin), at, length, generation);
          if (wrong >= 0) return wrong;
          at += length;
          left -= length;
        }
      }
    }
  }
  return -1;
}

}  // namespace choir::bench
