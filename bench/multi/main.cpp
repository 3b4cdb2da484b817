// choir-bench-multi: many files in one step, by five contenders in turn in the same processes.
//
// The experiments of the multi-collective I/O paper: p ranks access n files of equal size, each a
// matrix that is cut into blocks of rows or of columns (its tables 4 and 5), or six variables of
// one file, as astro3d does (its table 6). Contenders:
//
//   native       the MPI library's own collective, one file after the other
//   loop         choir's collective, one file after the other
//   nonblocking  choir's nonblocking collectives, all started, then MPI_Waitall
//   joined       the same, with join_nonblocking on
//   mcio         one call over all files
//
// Times are the slowest rank's, between two barriers. Bytes are verified for every contender. One
// line of JSON per case on standard output.
#include <choir/choir.h>
#include <choir/mcio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../statistics.hpp"

namespace {

using choir::bench::summarize;

int rank = 0, ranks = 1;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(fmt::format("{}: {}", what, text));
}

/// The MPI library's own functions, behind choir's.
struct Host {
  decltype(&MPI_File_open) open = nullptr;
  decltype(&MPI_File_close) close = nullptr;
  decltype(&MPI_File_set_view) set_view = nullptr;
  decltype(&MPI_File_read_at_all) read = nullptr;
  decltype(&MPI_File_write_at_all) write = nullptr;

  Host() {
    Dl_info info{};
    if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Comm_size"), &info) == 0)
      throw std::runtime_error("the MPI library is not found in this process");
    void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    look_up(library, "PMPI_File_open", open);
    look_up(library, "PMPI_File_close", close);
    look_up(library, "PMPI_File_set_view", set_view);
    look_up(library, "PMPI_File_read_at_all", read);
    look_up(library, "PMPI_File_write_at_all", write);
  }

 private:
  template <class Function>
  static void look_up(void* library, const char* name, Function& function) {
    void* found = library != nullptr ? dlsym(library, name) : nullptr;
    if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
    std::memcpy(&function, &found, sizeof function);
  }
};

/// What this rank has of one part: `blocks` blocks of `length` bytes, `stride` apart, per plane.
struct Share {
  MPI_Offset displacement = 0;
  MPI_Datatype filetype = MPI_BYTE;
  std::int64_t bytes = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks;  ///< offset in the file, length
};

MPI_Datatype committed(MPI_Datatype type) {
  check(MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

constexpr std::int64_t row_bytes = 2048 * 8;

Share rows_of_matrix(std::int64_t file_bytes) {
  Share share;
  const auto rows = file_bytes / row_bytes;
  const auto first = rows * rank / ranks, last = rows * (rank + 1) / ranks;
  share.displacement = first * row_bytes;
  share.bytes = (last - first) * row_bytes;
  share.blocks.emplace_back(share.displacement, share.bytes);
  return share;
}

Share columns_of_matrix(std::int64_t file_bytes) {
  Share share;
  const auto rows = file_bytes / row_bytes;
  const auto width = row_bytes / 8 / ranks * 8;
  check(MPI_Type_vector(static_cast<int>(rows), static_cast<int>(width),
                        static_cast<int>(row_bytes), MPI_BYTE, &share.filetype),
        "MPI_Type_vector");
  share.filetype = committed(share.filetype);
  share.displacement = width * rank;
  share.bytes = rows * width;
  for (std::int64_t row = 0; row < rows; ++row)
    share.blocks.emplace_back(row * row_bytes + share.displacement, width);
  return share;
}

/// Variable `number` of a file of six, each distributed (BLOCK, BLOCK, BLOCK).
Share box_of_variable(int number, std::int64_t edge) {
  int grid[3] = {0, 0, 0};
  check(MPI_Dims_create(ranks, 3, grid), "MPI_Dims_create");
  const int place[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
  int sizes[3], parts[3], starts[3];
  for (int d = 0; d < 3; ++d) {
    parts[d] = static_cast<int>(edge) / grid[d];
    sizes[d] = parts[d] * grid[d];
    starts[d] = parts[d] * place[d];
  }
  Share share;
  check(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_FLOAT, &share.filetype),
        "MPI_Type_create_subarray");
  share.filetype = committed(share.filetype);
  const std::int64_t variable = 4LL * sizes[0] * sizes[1] * sizes[2];
  share.displacement = variable * number;
  share.bytes = 4LL * parts[0] * parts[1] * parts[2];
  for (int x = 0; x < parts[0]; ++x)
    for (int y = 0; y < parts[1]; ++y)
      share.blocks.emplace_back(
          share.displacement +
              4LL * ((static_cast<std::int64_t>(starts[0] + x) * sizes[1] + starts[1] + y) *
                         sizes[2] +
                     starts[2]),
          4LL * parts[2]);
  return share;
}

struct Case {
  std::string pattern;
  int parts = 0;  ///< files, or variables of one file
  bool one_file = false;
  std::vector<Share> shares;
  std::vector<std::string> paths;
};

unsigned char value_at(int part, std::int64_t offset, int salt) {
  return static_cast<unsigned char>((offset * 7 + offset / 251 + part * 31 + salt * 101) & 0xff);
}

void fill(const Share& share, int part, int salt, std::vector<char>& buffer) {
  std::size_t at = 0;
  for (const auto& [offset, length] : share.blocks)
    for (std::int64_t i = 0; i < length; ++i)
      buffer[at++] = static_cast<char>(value_at(part, offset + i, salt));
}

bool same(const Share& share, int part, int salt, const std::vector<char>& buffer) {
  std::vector<char> expected(buffer.size());
  fill(share, part, salt, expected);
  return expected == buffer;
}

/// What is in the file where this rank's share lies, by plain system calls: its whole stretch in
/// large requests, since a data server may have to seek for each.
void read_plain(const std::string& path, const Share& share, std::vector<char>& buffer) {
  constexpr std::int64_t request = 1 << 20;
  std::fill(buffer.begin(), buffer.end(), '\0');
  if (share.blocks.empty()) return;
  const auto begin = share.blocks.front().first;
  std::vector<char> stretch(
      static_cast<std::size_t>(share.blocks.back().first + share.blocks.back().second - begin));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error("cannot open " + path);
  const auto size = static_cast<std::int64_t>(stretch.size());
  for (std::int64_t done = 0; done < size;) {
    const auto wanted = static_cast<std::size_t>(std::min(request, size - done));
    const auto moved = ::pread(fd, stretch.data() + done, wanted, begin + done);
    if (moved <= 0) break;
    done += moved;
  }
  ::close(fd);
  char* to = buffer.data();
  for (const auto& [offset, length] : share.blocks) {
    std::memcpy(to, stretch.data() + (offset - begin), static_cast<std::size_t>(length));
    to += length;
  }
}

/// The files of a case, opened by one side; a view per part. A file of several parts is opened once
/// per part, so that every part keeps its own view, except for mcio and the host, see below.
class Side {
 public:
  Side(const Case& what, const Host* host, bool join = false) : host_(host) {
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info), "MPI_Info_create");
    if (host == nullptr)
      check(MPI_Info_set(info, "choir_join_nonblocking", join ? "on" : "off"), "MPI_Info_set");
    for (int part = 0; part < what.parts; ++part) {
      MPI_File file = MPI_FILE_NULL;
      const auto* path = what.paths[static_cast<std::size_t>(part)].c_str();
      const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
      auto* const open = host_ != nullptr ? host_->open : &MPI_File_open;
      auto* const view = host_ != nullptr ? host_->set_view : &MPI_File_set_view;
      const auto& share = what.shares[static_cast<std::size_t>(part)];
      check(open(MPI_COMM_WORLD, path, mode, info, &file), "MPI_File_open");
      check(view(file, share.displacement, MPI_BYTE, share.filetype, "native", MPI_INFO_NULL),
            "MPI_File_set_view");
      files_.push_back(file);
    }
    MPI_Info_free(&info);
  }
  ~Side() {
    for (auto& file : files_) (host_ != nullptr ? host_->close : &MPI_File_close)(&file);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void one_by_one(bool writing, std::vector<std::vector<char>>& buffers) {
    auto* const read = host_ != nullptr ? host_->read : &MPI_File_read_at_all;
    auto* const write = host_ != nullptr ? host_->write : &MPI_File_write_at_all;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const int count = static_cast<int>(buffers[i].size());
      check(writing ? write(files_[i], 0, buffers[i].data(), count, MPI_BYTE, MPI_STATUS_IGNORE)
                    : read(files_[i], 0, buffers[i].data(), count, MPI_BYTE, MPI_STATUS_IGNORE),
            "one collective per file");
    }
  }

  void all_started(bool writing, std::vector<std::vector<char>>& buffers) {
    std::vector<MPI_Request> requests(files_.size(), MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const int count = static_cast<int>(buffers[i].size());
      check(writing ? MPI_File_iwrite_at_all(files_[i], 0, buffers[i].data(), count, MPI_BYTE,
                                             &requests[i])
                    : MPI_File_iread_at_all(files_[i], 0, buffers[i].data(), count, MPI_BYTE,
                                            &requests[i]),
            "nonblocking collective");
    }
    check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
  }

  void in_one_call(bool writing, std::vector<std::vector<char>>& buffers) {
    std::vector<void*> data;
    std::vector<int> counts;
    for (auto& buffer : buffers) {
      data.push_back(buffer.data());
      counts.push_back(static_cast<int>(buffer.size()));
    }
    std::vector<MPI_Datatype> types(files_.size(), MPI_BYTE);
    std::vector<MPI_Offset> offsets(files_.size(), 0);
    const int n = static_cast<int>(files_.size());
    check(writing ? MCIO_File_write_at_all(files_.data(), n, offsets.data(), data.data(),
                                           counts.data(), types.data(), MPI_STATUSES_IGNORE)
                  : MCIO_File_read_at_all(files_.data(), n, offsets.data(), data.data(),
                                          counts.data(), types.data(), MPI_STATUSES_IGNORE),
          "multi-collective");
  }

 private:
  const Host* host_;
  std::vector<MPI_File> files_;
};

struct Contender {
  std::string name;
  Side* side;
  void (Side::*step)(bool, std::vector<std::vector<char>>&);
  std::vector<double> seconds;
  bool verified = true;
};

double timed(Contender& one, bool writing, std::vector<std::vector<char>>& buffers) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double started = MPI_Wtime();
  (one.side->*one.step)(writing, buffers);
  double mine = MPI_Wtime() - started, slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/// One more step with fresh bytes: what was written is in the file, what was read is what is there.
void verify(const Case& what, Contender& one, bool writing, int salt,
            std::vector<std::vector<char>>& buffers) {
  for (int part = 0; part < what.parts; ++part) {
    auto& buffer = buffers[static_cast<std::size_t>(part)];
    if (writing)
      fill(what.shares[static_cast<std::size_t>(part)], part, salt, buffer);
    else
      std::fill(buffer.begin(), buffer.end(), '\0');
  }
  (one.side->*one.step)(writing, buffers);
  MPI_Barrier(MPI_COMM_WORLD);  // another rank may still be writing this one's bytes
  int fine = 1, all = 0;
  for (int part = 0; part < what.parts; ++part) {
    const auto& share = what.shares[static_cast<std::size_t>(part)];
    auto& buffer = buffers[static_cast<std::size_t>(part)];
    if (writing) read_plain(what.paths[static_cast<std::size_t>(part)], share, buffer);
    if (!same(share, part, writing ? salt : 0, buffer)) fine = 0;
  }
  MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  one.verified = all != 0;
}

struct Options {
  std::vector<int> files{4, 8, 16, 32};
  std::vector<std::string> patterns{"row", "column", "astro3d"};
  std::vector<std::string> operations{"read", "write"};
  std::vector<std::string> contenders{"native", "loop", "nonblocking", "joined", "mcio"};
  std::int64_t file_bytes = std::int64_t{4} << 20;
  std::int64_t total_bytes = std::int64_t{8} << 20;  ///< astro3d
  int repeat = 5, native_repeat = 0, warmup = 25;
  std::string folder = ".";
};

Case make_case(const Options& options, const std::string& pattern, int parts) {
  Case what;
  what.pattern = pattern;
  what.one_file = pattern == "astro3d";
  what.parts = what.one_file ? 6 : parts;
  std::int64_t edge = 1;
  while ((edge + 1) * (edge + 1) * (edge + 1) * 24 <= options.total_bytes) ++edge;
  for (int part = 0; part < what.parts; ++part) {
    what.paths.push_back(
        fmt::format("{}/choir-multi-{}", options.folder, what.one_file ? 0 : part));
    what.shares.push_back(pattern == "row"      ? rows_of_matrix(options.file_bytes)
                          : pattern == "column" ? columns_of_matrix(options.file_bytes)
                                                : box_of_variable(part, edge));
  }
  return what;
}

nlohmann::json report(const Case& what, bool writing, const std::vector<Contender>& contenders) {
  std::int64_t bytes = 0, all = 0;
  for (const auto& share : what.shares) bytes += share.bytes;
  MPI_Allreduce(&bytes, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  nlohmann::json line{{"pattern", what.pattern}, {"operation", writing ? "write" : "read"},
                      {"ranks", ranks},          {"files", what.one_file ? 1 : what.parts},
                      {"parts", what.parts},     {"bytes", all}};
  for (const auto& one : contenders) {
    const auto summary = summarize(one.seconds);
    line["seconds"][one.name] = {{"median", summary.median},
                                 {"best", summary.best},
                                 {"spread", summary.spread},
                                 {"verified", one.verified}};
  }
  return line;
}

bool run_case(const Options& options, const Case& what, const Host& host, bool writing) {
  Side native(what, &host), choir(what, nullptr);
  std::optional<Side> joined;
  std::vector<Contender> contenders;
  for (const auto& name : options.contenders) {
    if (name == "native") contenders.push_back({name, &native, &Side::one_by_one, {}, true});
    if (name == "loop") contenders.push_back({name, &choir, &Side::one_by_one, {}, true});
    if (name == "nonblocking") contenders.push_back({name, &choir, &Side::all_started, {}, true});
    if (name == "joined")
      contenders.push_back(
          {name, &joined.emplace(what, nullptr, true), &Side::all_started, {}, true});
    if (name == "mcio") contenders.push_back({name, &choir, &Side::in_one_call, {}, true});
  }
  std::vector<std::vector<char>> buffers;
  for (const auto& share : what.shares) buffers.emplace_back(static_cast<std::size_t>(share.bytes));
  for (int part = 0; part < what.parts; ++part)
    fill(what.shares[static_cast<std::size_t>(part)], part, 0,
         buffers[static_cast<std::size_t>(part)]);
  choir.one_by_one(true, buffers);  // the bytes that are read, and blocks that are there already
  MPI_Barrier(MPI_COMM_WORLD);
  for (auto& one : contenders)
    for (int i = 0; i < (one.side == &native ? 1 : options.warmup); ++i)
      timed(one, writing, buffers);
  for (int i = 0; i < options.repeat; ++i)
    for (auto& one : contenders)
      if (one.side != &native || options.native_repeat == 0 || i < options.native_repeat)
        one.seconds.push_back(timed(one, writing, buffers));
  int salt = writing ? 1 : 0;
  bool fine = true;
  for (auto& one : contenders) {
    verify(what, one, writing, salt, buffers);
    // OMPIO loses bytes now and then: that is reported, but no failure of ours.
    fine = fine && (one.verified || one.side == &native);
    if (writing) ++salt;
  }
  const auto line = report(what, writing, contenders);
  if (rank == 0) fmt::print("{}\n", line.dump()), std::fflush(stdout);
  return fine;
}

void remove_files(const Case& what) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    for (const auto& path : what.paths) ::unlink(path.c_str());
  MPI_Barrier(MPI_COMM_WORLD);
}

int run(const Options& options) {
  if (choir_active() == 0 && rank == 0)
    fmt::print(stderr, "choir-bench-multi: choir is not loaded; run it by `choir run`\n");
  const Host host;
  bool fine = true;
  for (const auto& pattern : options.patterns)
    for (const int files : pattern == "astro3d" ? std::vector<int>{1} : options.files) {
      auto what = make_case(options, pattern, files);
      for (const auto& operation : options.operations)
        fine = run_case(options, what, host, operation == "write") && fine;
      remove_files(what);
      for (auto& share : what.shares)
        if (share.filetype != MPI_BYTE) MPI_Type_free(&share.filetype);
    }
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options;
  CLI::App app("Many files in one step: native, choir one by one, nonblocking, one call");
  app.add_option("--files", options.files, "numbers of files")->delimiter(',');
  app.add_option("--patterns", options.patterns, "row, column, astro3d")->delimiter(',');
  app.add_option("--operations", options.operations, "read, write")->delimiter(',');
  app.add_option("--contenders", options.contenders, "native, loop, nonblocking, joined, mcio")
      ->delimiter(',');
  app.add_option("--file-bytes", options.file_bytes, "of one file, a multiple of 16K")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--total-bytes", options.total_bytes, "of astro3d's file")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--repeat", options.repeat, "measured steps of each contender");
  app.add_option("--native-repeat", options.native_repeat, "the same of native; 0: as many");
  app.add_option("--warmup", options.warmup, "steps of choir's contenders before, to choose in");
  app.add_option("--dir", options.folder, "where the files are made");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = rank == 0 ? app.exit(e) : 0;
    MPI_Finalize();
    return code;
  }
  int result = 2;
  try {
    result = run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "choir-bench-multi: rank {}: {}\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return result;
}
