// writer.hpp: a rank's trace file, written without disturbing the program.
//
// Local, thread-safe, never throws, never communicates. Lines gather in a buffer of bounded size
// and go to DIR/rank-N.jsonl when it is full and at the end. When the disk fails, or the file has
// reached its limit, records are dropped and counted; the program goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "trace/record.hpp"

namespace choir::trace {

class TraceWriter {
 public:
  struct Limits {
    std::size_t buffer_bytes = 256 << 10;
    std::int64_t file_bytes = std::int64_t{256} << 20;
  };

  /// `rank` in MPI_COMM_WORLD names the file. Creates the folder when it is missing. A writer that
  /// could not open its file drops everything; `error()` says why.
  TraceWriter(const std::string& folder, int rank, std::string_view version) noexcept
      : TraceWriter(folder, rank, version, Limits{}) {}
  TraceWriter(const std::string& folder, int rank, std::string_view version,
              Limits limits) noexcept;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter();

  void open(const OpenRecord& record) noexcept;
  void call(const CallRecord& record) noexcept;
  void left(const LeftRecord& record) noexcept;
  /// Hands what is buffered to the file system.
  void flush() noexcept;
  /// Writes the closing line and closes the file; later records are dropped.
  void finish() noexcept;

  std::int64_t written() const noexcept;
  std::int64_t dropped() const noexcept;
  std::string error() const noexcept;

 private:
  template <class Append>
  void add(Append&& append) noexcept;
  void flush_locked() noexcept;
  void fail(const char* doing, const std::string& path) noexcept;

  mutable std::mutex mutex_;
  Limits limits_;
  std::string path_;
  int fd_ = -1;
  std::string buffer_;
  std::int64_t file_bytes_ = 0;
  std::int64_t buffered_records_ = 0;
  std::int64_t written_ = 0;
  std::int64_t dropped_ = 0;
  std::string error_;
};

}  // namespace choir::trace
