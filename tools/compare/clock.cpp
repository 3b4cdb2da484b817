// clock.cpp: libchoir_clock.so, which times what a program spends in MPI-IO calls on each file.
//
// Preloaded in front of choir, or of the MPI library alone: both runs of a comparison are timed by
// the same instructions (two readings of the clock and one look into a table per call, 0.1 us). It
// makes no MPI call of its own. At each close a line goes to a file of this process in the folder
// $CHOIR_CLOCK:
//
//   file TAB written|read TAB open seconds TAB call seconds TAB close seconds TAB path
//
// With $CHOIR_CLOCK_GUARD (nanoseconds since 1970) a file that was there before that moment is not
// opened for writing: the process says `existing TAB path` and ends, so that nothing is overwritten
// which the comparison could not put back.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_map>

#include "frontdoor/symbols/both.hpp"
#include "mpi/real.hpp"

namespace {

struct Opening {
  std::string path;
  bool written = false;
  double open_s = 0, calls_s = 0;
};

struct Clock {
  std::mutex mutex;
  std::unordered_map<MPI_File, Opening> openings;
};

/// Never destroyed: programs close files at exit.
Clock& clock_of_process() {
  static auto* const clock = new Clock;
  return *clock;
}

double now_s() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// One line to this process's file. A line that cannot be written is missing in the comparison,
/// which then says that it saw no file.
void say(const std::string& line) {
  const char* folder = std::getenv("CHOIR_CLOCK");
  if (folder == nullptr) return;
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof(host) - 1);
  const auto path = std::string(folder) + "/" + host + "-" + std::to_string(getpid());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const auto written = write(file, line.data(), line.size());
  close(file);
}

/// Without ROMIO's prefix ("ufs:"), absolute.
std::string plain_path(const char* name) {
  std::string path = name;
  const auto colon = path.find(':');
  if (colon != std::string::npos && path.find('/') > colon) path.erase(0, colon + 1);
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

void guard(const std::string& path, int mode) {
  const char* since = std::getenv("CHOIR_CLOCK_GUARD");
  struct stat info {};
  if (since == nullptr || (mode & MPI_MODE_RDONLY) != 0 || stat(path.c_str(), &info) != 0) return;
  const auto changed_ns = info.st_ctim.tv_sec * std::int64_t{1000000000} + info.st_ctim.tv_nsec;
  if (info.st_size == 0 || !S_ISREG(info.st_mode) || changed_ns >= std::atoll(since)) return;
  say("existing\t" + path + "\n");
  _exit(3);
}

int timed_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
  const auto path = plain_path(name);
  guard(path, mode);
  const double begin = now_s();
  const int code = REAL(File_open)(comm, name, mode, info, file);
  const double end = now_s();
  if (code != MPI_SUCCESS) return code;
  auto& clock = clock_of_process();
  const std::lock_guard lock(clock.mutex);
  clock.openings[*file] = {path, false, end - begin, 0};
  return code;
}

int timed_close(MPI_File* file) {
  Opening opening;
  {
    auto& clock = clock_of_process();
    const std::lock_guard lock(clock.mutex);
    if (const auto found = clock.openings.find(*file); found != clock.openings.end()) {
      opening = std::move(found->second);
      clock.openings.erase(found);
    }
  }
  const double begin = now_s();
  const int code = REAL(File_close)(file);
  const double end = now_s();
  if (opening.path.empty()) return code;
  char numbers[128] = "";
  std::snprintf(numbers, sizeof(numbers), "file\t%s\t%.9f\t%.9f\t%.9f\t",
                opening.written ? "written" : "read", opening.open_s, opening.calls_s, end - begin);
  say(numbers + opening.path + "\n");
  return code;
}

/// Runs `call` on an open file and books its time.
template <class Body>
int timed(MPI_File file, bool writes, Body&& call) {
  const double begin = now_s();
  const int code = call();
  const double end = now_s();
  auto& clock = clock_of_process();
  const std::lock_guard lock(clock.mutex);
  if (const auto found = clock.openings.find(file); found != clock.openings.end()) {
    found->second.calls_s += end - begin;
    found->second.written = found->second.written || writes;
  }
  return code;
}

}  // namespace

BOTH(File_open, (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file),
     timed_open(comm, name, mode, info, file))
BOTH(File_close, (MPI_File * file), timed_close(file))

#define TIMED(name, writes, parameters, arguments) \
  BOTH(name, parameters, timed(file, writes, [&] { return REAL(name) arguments; }))

TIMED(File_set_view, false,
      (MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
       const char* representation, MPI_Info info),
      (file, displacement, etype, filetype, representation, info))
TIMED(File_set_size, true, (MPI_File file, MPI_Offset size), (file, size))
TIMED(File_preallocate, true, (MPI_File file, MPI_Offset size), (file, size))
TIMED(File_sync, false, (MPI_File file), (file))
TIMED(File_get_size, false, (MPI_File file, MPI_Offset* size), (file, size))
TIMED(File_seek, false, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence))
TIMED(File_set_info, false, (MPI_File file, MPI_Info info), (file, info))

#define BY_POINTER(name, writes, Const, Count, Last)                                    \
  TIMED(File_##name, writes,                                                            \
        (MPI_File file, Const void* buffer, Count count, MPI_Datatype type, Last last), \
        (file, buffer, count, type, last))
#define BY_OFFSET(name, writes, Const, Count, Last)                                            \
  TIMED(File_##name, writes,                                                                   \
        (MPI_File file, MPI_Offset offset, Const void* buffer, Count count, MPI_Datatype type, \
         Last last),                                                                           \
        (file, offset, buffer, count, type, last))

#define DATA_CALLS(op, writes, Const, Count, suffix)                                            \
  BY_POINTER(op##suffix, writes, Const, Count, MPI_Status*)                                     \
  BY_POINTER(op##_all##suffix, writes, Const, Count, MPI_Status*)                               \
  BY_POINTER(op##_shared##suffix, writes, Const, Count, MPI_Status*)                            \
  BY_POINTER(op##_ordered##suffix, writes, Const, Count, MPI_Status*)                           \
  BY_OFFSET(op##_at##suffix, writes, Const, Count, MPI_Status*)                                 \
  BY_OFFSET(op##_at_all##suffix, writes, Const, Count, MPI_Status*)                             \
  BY_POINTER(i##op##suffix, writes, Const, Count, MPI_Request*)                                 \
  BY_POINTER(i##op##_all##suffix, writes, Const, Count, MPI_Request*)                           \
  BY_POINTER(i##op##_shared##suffix, writes, Const, Count, MPI_Request*)                        \
  BY_OFFSET(i##op##_at##suffix, writes, Const, Count, MPI_Request*)                             \
  BY_OFFSET(i##op##_at_all##suffix, writes, Const, Count, MPI_Request*)                         \
  TIMED(File_##op##_all_begin##suffix, writes,                                                  \
        (MPI_File file, Const void* buffer, Count count, MPI_Datatype type),                    \
        (file, buffer, count, type))                                                            \
  TIMED(File_##op##_ordered_begin##suffix, writes,                                              \
        (MPI_File file, Const void* buffer, Count count, MPI_Datatype type),                    \
        (file, buffer, count, type))                                                            \
  TIMED(File_##op##_at_all_begin##suffix, writes,                                               \
        (MPI_File file, MPI_Offset offset, Const void* buffer, Count count, MPI_Datatype type), \
        (file, offset, buffer, count, type))

#define SPLIT_ENDS(op, Const)                                                                    \
  TIMED(File_##op##_all_end, false, (MPI_File file, Const void* buffer, MPI_Status* status),     \
        (file, buffer, status))                                                                  \
  TIMED(File_##op##_at_all_end, false, (MPI_File file, Const void* buffer, MPI_Status* status),  \
        (file, buffer, status))                                                                  \
  TIMED(File_##op##_ordered_end, false, (MPI_File file, Const void* buffer, MPI_Status* status), \
        (file, buffer, status))

#define NOT_CONST
DATA_CALLS(read, false, NOT_CONST, int, )
DATA_CALLS(write, true, const, int, )
SPLIT_ENDS(read, NOT_CONST)
SPLIT_ENDS(write, const)
#if MPI_VERSION >= 4
DATA_CALLS(read, false, NOT_CONST, MPI_Count, _c)
DATA_CALLS(write, true, const, MPI_Count, _c)
#endif
