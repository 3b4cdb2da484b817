#include "engine/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/present.hpp"

namespace choir {

FileMapping::~FileMapping() {
  for (const auto& window : windows_) munmap(window.address, window_bytes);
}

/// Nobody uses the descriptor's own position, and moving it costs about half of what fstat does.
std::int64_t FileMapping::size(int fd) { return lseek(fd, 0, SEEK_END); }

/// Another handle may have cut the file: what is beyond its end is not there any more.
bool FileMapping::is_reserved(int fd, Extent span) const {
  return size(fd) >= span.end && reserved_.covers(span);
}

/// By the system call: where the file system cannot, the C library would read each block and write
/// it back, over what other ranks have written in between.
int FileMapping::reserve(int fd, Extent span) {
  if (is_reserved(fd, span)) return 0;
  int result = 0;
  do result = fallocate(fd, 0, span.begin, span.size());
  while (result != 0 && errno == EINTR);
  if (result != 0) return errno;
  reserved_.add(span);
  return 0;
}

FileMapping::Window* FileMapping::find(std::int64_t number) {
  for (auto& window : windows_)
    if (window.number == number) return &window;
  return nullptr;
}

void FileMapping::drop_oldest() {
  const auto oldest =
      std::min_element(windows_.begin(), windows_.end(),
                       [](const Window& a, const Window& b) { return a.used < b.used; });
  munmap(oldest->address, window_bytes);
  windows_.erase(oldest);
}

int FileMapping::add(int fd, std::int64_t number) {
  const auto most = std::max<std::int64_t>(1, most_bytes_ / window_bytes);
  if (static_cast<std::int64_t>(windows_.size()) >= most) drop_oldest();
  const auto map = [&](int protection) {
    return mmap(nullptr, window_bytes, protection, MAP_SHARED, fd, number * window_bytes);
  };
  void* address = map(PROT_READ | PROT_WRITE);
  if (address == MAP_FAILED && errno == EACCES) address = map(PROT_READ);
  if (address == MAP_FAILED) return errno;
  windows_.push_back({number, static_cast<char*>(address), 0, {}});
  return 0;
}

FileMapping::View FileMapping::view(int fd, std::int64_t offset) {
  const auto number = offset / window_bytes;
  Window* window = find(number);
  if (window == nullptr) {
    if (const int error = add(fd, number)) return {nullptr, {}, error};
    window = &windows_.back();
  }
  window->used = ++uses_;
  const auto begin = number * window_bytes;
  return {window->address - begin, {begin, begin + window_bytes}, 0};
}

template <class Visit>
void FileMapping::take_new_blocks(const View& view, Extent part, Visit&& visit) {
  Window& window = *find(view.range.begin / window_bytes);
  auto& known = window.writable;
  auto block = (part.begin - view.range.begin + block_bytes - 1) / block_bytes;
  const auto end = (part.end - view.range.begin) / block_bytes;
  while (block < end) {
    if (known[static_cast<std::size_t>(block)]) {
      ++block;
      continue;
    }
    auto stop = block;
    while (stop < end && !known[static_cast<std::size_t>(stop)])
      known.set(static_cast<std::size_t>(stop++));
    visit(window.address + block * block_bytes, (stop - block) * block_bytes);
    block = stop;
  }
}

void FileMapping::populate(const View& view, Extent part) {
  // A page that cannot be had shows when bytes are copied.
  take_new_blocks(view, part,
                  [](char* begin, std::int64_t bytes) { make_present(begin, bytes, true); });
}

std::int64_t FileMapping::leave_to_faults(const View& view, Extent part) {
  std::int64_t taken = 0;
  take_new_blocks(view, part, [&](char*, std::int64_t bytes) { taken += bytes; });
  return taken;
}

void FileMapping::note_faults(std::int64_t bytes, std::int64_t faults) {
  constexpr std::int64_t page = 4096, pages_of_a_block = 4;
  faults_bring_blocks_ = faults * pages_of_a_block <= bytes / page;
}

}  // namespace choir
