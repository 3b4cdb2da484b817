#include "frontdoor/open_file.hpp"

#include <atomic>
#include <shared_mutex>
#include <unordered_map>

namespace choir {

struct OpenFiles::State {
  std::atomic<int> count{0};  ///< a program served by the host alone must not pay for the lock
  std::atomic<std::uint64_t> changes{1};  ///< of `files`, counted
  std::shared_mutex mutex;
  std::unordered_map<MPI_File, std::unique_ptr<OpenFile>> files;
};

OpenFiles& OpenFiles::instance() {
  static OpenFiles files;
  return files;
}

OpenFiles::State& OpenFiles::state() {
  static auto* const state =
      new State;  // never destroyed: programs may close files in exit handlers
  return *state;
}

OpenFile* OpenFiles::find(MPI_File handle) {
  OpenFile* const file = find_any(handle);
  return file != nullptr && file->engine ? file : nullptr;
}

OpenFile* OpenFiles::find_any(MPI_File handle) {
  auto& s = state();
  if (s.count.load(std::memory_order_relaxed) == 0) return nullptr;
  // The file of this thread's last call, as long as no file was opened or closed.
  struct Last {
    std::uint64_t changes = 0;
    MPI_File handle{};
    OpenFile* file = nullptr;
  };
  static thread_local Last last;
  const auto changes = s.changes.load(std::memory_order_acquire);
  if (last.changes == changes && last.handle == handle) return last.file;
  const std::shared_lock lock(s.mutex);
  const auto found = s.files.find(handle);
  last = {changes, handle, found == s.files.end() ? nullptr : found->second.get()};
  return last.file;
}

void OpenFiles::add(std::unique_ptr<OpenFile> file) {
  auto& s = state();
  const std::unique_lock lock(s.mutex);
  const auto handle = file->handle;
  s.files[handle] = std::move(file);
  s.changes.fetch_add(1, std::memory_order_acq_rel);
  s.count = static_cast<int>(s.files.size());
}

std::unique_ptr<OpenFile> OpenFiles::remove(MPI_File handle) {
  auto& s = state();
  const std::unique_lock lock(s.mutex);
  const auto found = s.files.find(handle);
  if (found == s.files.end()) return nullptr;
  auto file = std::move(found->second);
  s.files.erase(found);
  s.changes.fetch_add(1, std::memory_order_acq_rel);
  s.count = static_cast<int>(s.files.size());
  return file;
}

int raise(MPI_File handle, int code) {
  if (code != MPI_SUCCESS) PMPI_File_call_errhandler(handle, code);
  return code;
}

}  // namespace choir
