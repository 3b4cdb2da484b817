// contender.cpp: see contender.hpp.
//
// choir's library defines PMPI_File_* too (Fortran bindings call those), so the host's own
// functions are looked up in the MPI library itself. That lets the host run beside choir in the
// same processes.
#include "contender.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/in_force.hpp"
#include "workload.hpp"

namespace choir::bench {

namespace {

/// The file functions of one side.
struct FileFunctions {
  decltype(&MPI_File_open) open;
  decltype(&MPI_File_close) close;
  decltype(&MPI_File_set_view) set_view;
  decltype(&MPI_File_write_at_all) write_at_all;
  decltype(&MPI_File_read_at_all) read_at_all;
  decltype(&MPI_File_sync) sync;
  decltype(&MPI_File_get_info) get_info;
};

std::string library_of(void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  void* found = dlsym(library, name);
  if (found == nullptr) throw Unsuitable(std::string("the MPI library has no ") + name);
  std::memcpy(&function, &found, sizeof(function));
}

FileFunctions program_functions() {
  return {MPI_File_open,        MPI_File_close, MPI_File_set_view, MPI_File_write_at_all,
          MPI_File_read_at_all, MPI_File_sync,  MPI_File_get_info};
}

FileFunctions host_functions() {
  const auto path = library_of(dlsym(RTLD_DEFAULT, "PMPI_Comm_size"));
  void* library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) throw Unsuitable("cannot find the MPI library in this process");
  FileFunctions functions{};
  look_up(library, "PMPI_File_open", functions.open);
  look_up(library, "PMPI_File_close", functions.close);
  look_up(library, "PMPI_File_set_view", functions.set_view);
  look_up(library, "PMPI_File_write_at_all", functions.write_at_all);
  look_up(library, "PMPI_File_read_at_all", functions.read_at_all);
  look_up(library, "PMPI_File_sync", functions.sync);
  look_up(library, "PMPI_File_get_info", functions.get_info);
  return functions;
}

/// Keeps the first error of a sequence of calls.
class FirstError {
 public:
  void mpi(int code) {
    if (code != MPI_SUCCESS && text_.empty()) text_ = mpi_error_text(code);
  }
  void posix(const char* what) {
    if (text_.empty()) text_ = std::string(what) + ": " + std::strerror(errno);
  }
  std::string text() const { return text_; }

 private:
  std::string text_;
};

using Hints = std::vector<std::pair<std::string, std::string>>;

class MpiContender : public Contender {
 public:
  MpiContender(FileFunctions functions, Hints hints, bool sync)
      : functions_(functions), hints_(std::move(hints)), sync_(sync) {}

  std::string open(const std::string& path, Operation operation) override {
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info));
    for (const auto& [key, value] : hints_) check(MPI_Info_set(info, key.c_str(), value.c_str()));
    const int mode =
        operation == Operation::write ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    FirstError error;
    error.mpi(functions_.open(MPI_COMM_WORLD, path.c_str(), mode, info, &file_));
    check(MPI_Info_free(&info));
    view_ = kNoView;
    return error.text();
  }

  std::string view(const Program& program) override {
    FirstError error;
    if (!program.calls.empty()) error.mpi(set_view(program, program.calls.front().view));
    return error.text();
  }

  std::string step(Operation operation, const Program& program, char* buffer, int number) override {
    FirstError error;
    for (const auto& call : program.calls) {
      if (call.view != view_) error.mpi(set_view(program, call.view));
      error.mpi(transfer(operation, call, number, buffer + call.buffer_offset));
    }
    if (sync_ && operation == Operation::write) error.mpi(functions_.sync(file_));
    return error.text();
  }

  std::string close() override {
    FirstError error;
    error.mpi(functions_.close(&file_));
    return error.text();
  }

  std::string flush() override {
    FirstError error;
    error.mpi(functions_.sync(file_));
    return error.text();
  }

  std::string info(const char* key) const override {
    MPI_Info all = MPI_INFO_NULL;
    if (functions_.get_info(file_, &all) != MPI_SUCCESS || all == MPI_INFO_NULL) return {};
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    const int code = MPI_Info_get(all, key, MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&all);
    return code == MPI_SUCCESS && found != 0 ? value : "";
  }

 private:
  static constexpr std::size_t kNoView = static_cast<std::size_t>(-1);

  int set_view(const Program& program, std::size_t index) {
    const auto& view = program.views[index];
    view_ = index;
    return functions_.set_view(file_, view.displacement, view.etype, view.filetype, "native",
                               MPI_INFO_NULL);
  }

  /// A call that moves fewer bytes than asked is an error here: every workload reads what is there.
  int transfer(Operation operation, const Call& call, int number, char* buffer) {
    MPI_Status status;
    const auto offset = call.offset + number * call.step_offset;
    const int code =
        operation == Operation::write
            ? functions_.write_at_all(file_, offset, buffer, call.count, call.memory_type, &status)
            : functions_.read_at_all(file_, offset, buffer, call.count, call.memory_type, &status);
    if (code != MPI_SUCCESS) return code;
    int count = 0;
    MPI_Get_count(&status, call.memory_type, &count);
    return count == call.count ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
  }

  FileFunctions functions_;
  Hints hints_;
  bool sync_;
  MPI_File file_ = MPI_FILE_NULL;
  std::size_t view_ = kNoView;
};

/// The floor: the same bytes per rank, contiguous, 1 MiB at a time. What no strategy is expected to
/// beat by much.
class Floor : public Contender {
 public:
  explicit Floor(const StepOptions& options) : options_(options) {}

  std::string open(const std::string& path, Operation operation) override {
    path_ = path;
    return open_descriptor(operation == Operation::write ? O_CREAT | O_RDWR : O_RDONLY);
  }

  std::string step(Operation operation, const Program& program, char* buffer, int) override {
    FirstError error;
    const auto bytes = program.bytes();
    if (begin_ < 0) place(bytes);  // once, normally in a warm-up step
    auto* memory = options_.direct ? aligned(buffer, bytes) : buffer;
    const auto total = options_.direct ? padded(bytes) : bytes;
    for (std::int64_t done = 0; done < total;) {
      const auto length = static_cast<std::size_t>(std::min<std::int64_t>(kRequest, total - done));
      const auto moved = operation == Operation::write
                             ? pwrite(descriptor_, memory + done, length, begin_ + done)
                             : pread(descriptor_, memory + done, length, begin_ + done);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) {
        if (moved == 0) errno = EIO;  // the file is shorter than it must be
        error.posix(name_of(operation));
        break;
      }
      done += moved;
    }
    if (options_.sync && operation == Operation::write && fdatasync(descriptor_) != 0)
      error.posix("fdatasync");
    return error.text();
  }

  std::string close() override {
    FirstError error;
    if (descriptor_ >= 0 && ::close(descriptor_) != 0) error.posix("close");
    descriptor_ = -1;
    return error.text();
  }

  std::string flush() override { return {}; }
  bool same_bytes() const override { return false; }

 private:
  static constexpr std::int64_t kRequest = 1 << 20;
  static constexpr std::int64_t kAlignment = 4096;

  static std::int64_t padded(std::int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  std::string open_descriptor(int flags) {
    FirstError error;
    descriptor_ = ::open(path_.c_str(), flags | O_CLOEXEC | (options_.direct ? O_DIRECT : 0), 0644);
    if (descriptor_ < 0) error.posix(path_.c_str());
    return error.text();
  }

  /// Each rank's part follows those of the ranks before it, aligned when the page cache is
  /// bypassed.
  void place(std::int64_t bytes) {
    std::int64_t mine = options_.direct ? padded(bytes) : bytes;
    std::int64_t before = 0;
    check(MPI_Exscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    int rank = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    begin_ = rank == 0 ? 0 : before;
  }

  char* aligned(const char* buffer, std::int64_t bytes) {
    if (aligned_ == nullptr) {
      const auto size = std::max(padded(bytes), kAlignment);
      aligned_.reset(
          static_cast<char*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(size))));
      if (aligned_ == nullptr) throw std::bad_alloc();
      std::memcpy(aligned_.get(), buffer, static_cast<std::size_t>(bytes));
    }
    return aligned_.get();
  }

  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };

  StepOptions options_;
  std::string path_;
  int descriptor_ = -1;
  std::int64_t begin_ = -1;
  std::unique_ptr<char, Free> aligned_;
};

/// What memory allows: the same bytes per rank copied once within its own memory, no file at all.
/// No strategy that copies on the page cache can be much faster.
class MemoryCopy : public Contender {
 public:
  std::string open(const std::string&, Operation) override { return {}; }

  std::string step(Operation operation, const Program& program, char* buffer, int) override {
    const auto bytes = static_cast<std::size_t>(program.bytes());
    if (other_.size() < bytes) other_.assign(bytes, 1);  // once, normally in a warm-up step
    if (operation == Operation::write)
      std::memcpy(other_.data(), buffer, bytes);
    else
      std::memcpy(buffer, other_.data(), bytes);
    return {};
  }

  std::string close() override { return {}; }
  std::string flush() override { return {}; }
  bool same_bytes() const override { return false; }

 private:
  std::vector<char> other_;
};

/// ROMIO's names; other libraries ignore them.
Hints direct_hints(bool direct) {
  if (!direct) return {};
  return {{"direct_read", "true"}, {"direct_write", "true"}};
}

Hints strategy_hints(const std::string& name, bool direct) {
  auto hints = direct_hints(direct);
  hints.emplace_back("choir_strategy", name);
  return hints;
}

bool built_in(const std::string& name) {
  const auto& names = contender_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Why one of the names is nobody's; empty if all are known. Local: what the configuration adds is
/// read here, and only if a name asks for it.
std::string unknown_among(const std::vector<std::string>& names) {
  if (std::all_of(names.begin(), names.end(), built_in)) return {};
  std::vector<std::string> warnings;
  auto settings = tools::settings_in_force(warnings);
  const auto table = tools::strategies_in_force(settings, warnings);
  for (const auto& name : names) {
    if (built_in(name) || table.find(name)) continue;
    auto known = fmt::format("{}", fmt::join(contender_names(), ", "));
    for (const auto& row : table.rows())
      if (!built_in(row.name)) known += ", " + row.name;
    auto text = fmt::format("there is no contender '{}'; there are {}", name, known);
    for (const auto& warning : warnings) text += "\nchoir-bench: " + warning;
    return text;
  }
  return {};
}

}  // namespace

std::string choir_library() {
  const auto path = library_of(dlsym(RTLD_DEFAULT, "MPI_File_open"));
  return path.find("libchoir_mpiio") == std::string::npos ? std::string() : path;
}

const std::vector<std::string>& contender_names() {
  static const std::vector<std::string> names{"host",
                                              "native",
                                              "auto",
                                              "individual",
                                              "scheduled_individual",
                                              "two_phase",
                                              "disk_first",
                                              "core_first",
                                              "dynamic_segmentation",
                                              "static_segmentation",
                                              "hierarchical",
                                              "mapped",
                                              "floor",
                                              "memory"};
  return names;
}

void require_known(const std::vector<std::string>& names) {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  const auto text = rank == 0 ? unknown_among(names) : std::string();
  int unknown = text.empty() ? 0 : 1;
  check(MPI_Bcast(&unknown, 1, MPI_INT, 0, MPI_COMM_WORLD));
  if (unknown != 0) throw Unsuitable(text);
}

std::unique_ptr<Contender> make_contender(const std::string& name, const StepOptions& options) {
  if (name == "floor") return std::make_unique<Floor>(options);
  if (name == "memory") return std::make_unique<MemoryCopy>();
  if (name == "host")
    return std::make_unique<MpiContender>(host_functions(), direct_hints(options.direct),
                                          options.sync);
  const bool here = !choir_library().empty();
  if (!here && name == "native")
    return std::make_unique<MpiContender>(program_functions(), direct_hints(options.direct),
                                          options.sync);
  if (!here)
    throw Unsuitable(
        "contender '" + name +
        "' needs choir's library, which is not preloaded (LD_PRELOAD=.../libchoir_mpiio.so); "
        "without it there are host, native, floor and memory");
  return std::make_unique<MpiContender>(program_functions(), strategy_hints(name, options.direct),
                                        options.sync);
}

}  // namespace choir::bench
