// writer.cpp: buffering and dropping.
#include "trace/writer.hpp"

#include <unistd.h>

#include <cerrno>

#include "files/output.hpp"

namespace choir::trace {

namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace

TraceWriter::TraceWriter(const std::string& folder, int rank, std::string_view version,
                         Limits limits) noexcept
    : limits_(limits) {
  try {
    buffer_.reserve(limits_.buffer_bytes);
    if (!files::make_folders(folder, 0777)) {
      fail("create the folder", folder);
      return;
    }
    path_ = folder + "/rank-" + std::to_string(rank) + ".jsonl";
    fd_ = files::create_output(path_, 0666);
    if (fd_ < 0) {
      fail("create", path_);
      return;
    }
    append_header(buffer_, rank, host_name(), version);
    flush_locked();  // at once: a killed program leaves a trace that says whose it is
  } catch (...) {
    fd_ = -1;
  }
}

TraceWriter::~TraceWriter() { finish(); }

void TraceWriter::fail(const char* doing, const std::string& path) noexcept {
  if (!error_.empty()) return;  // the first one says more
  try {
    error_ = std::string("cannot ") + doing + " " + path + ": " + files::reason(errno);
  } catch (...) {
    error_.clear();
  }
}

/// A record that does not fit, after a flush, into what is left is dropped whole: the file always
/// consists of complete lines.
template <class Append>
void TraceWriter::add(Append&& append) noexcept {
  const std::lock_guard lock(mutex_);
  const auto before = buffer_.size();
  const auto room = [&] {
    return file_bytes_ + static_cast<std::int64_t>(buffer_.size()) <= limits_.file_bytes;
  };
  if (fd_ < 0) {
    ++dropped_;
    return;
  }
  try {
    append(buffer_);
  } catch (...) {
    buffer_.resize(before);
    ++dropped_;
    return;
  }
  if (!room()) {
    buffer_.resize(before);
    ++dropped_;
    return;
  }
  ++buffered_records_;
  if (buffer_.size() >= limits_.buffer_bytes) flush_locked();
}

void TraceWriter::open(const OpenRecord& record) noexcept {
  add([&](std::string& out) { append_open(out, record); });
}

void TraceWriter::call(const CallRecord& record) noexcept {
  add([&](std::string& out) { append_call(out, record); });
}

void TraceWriter::left(const LeftRecord& record) noexcept {
  add([&](std::string& out) { append_left(out, record); });
}

void TraceWriter::flush_locked() noexcept {
  std::size_t done = 0;
  while (fd_ >= 0 && done < buffer_.size()) {
    const auto n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    fail("write", path_);
    // Cut the half line off, so that what is there stays readable.
    if (::ftruncate(fd_, file_bytes_) != 0 || ::lseek(fd_, file_bytes_, SEEK_SET) < 0) {
      ::close(fd_);
      fd_ = -1;
    }
    dropped_ += buffered_records_;
    buffered_records_ = 0;
    buffer_.clear();
    return;
  }
  file_bytes_ += static_cast<std::int64_t>(done);
  written_ += buffered_records_;
  buffered_records_ = 0;
  buffer_.clear();
}

void TraceWriter::flush() noexcept {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void TraceWriter::finish() noexcept {
  const std::lock_guard lock(mutex_);
  if (fd_ < 0) return;
  flush_locked();
  if (fd_ < 0) return;
  try {
    append_end(buffer_, written_, dropped_);
  } catch (...) {
    buffer_.clear();
  }
  flush_locked();
  if (fd_ >= 0 && ::close(fd_) != 0) fail("close", path_);
  fd_ = -1;
}

std::int64_t TraceWriter::written() const noexcept {
  const std::lock_guard lock(mutex_);
  return written_;
}

std::int64_t TraceWriter::dropped() const noexcept {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::string TraceWriter::error() const noexcept {
  const std::lock_guard lock(mutex_);
  try {
    return error_;
  } catch (...) {
    return {};
  }
}

}  // namespace choir::trace
