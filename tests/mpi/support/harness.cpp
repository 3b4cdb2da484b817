#include "harness.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

namespace choir::test {
namespace {

const Typemap byte_map{{{0, 1}}, 0, 1};

bool write_whole_file(const std::string& path, const Bytes& content) {
  const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (fd < 0) return false;
  const auto written = ::write(fd, content.data(), content.size());
  return ::close(fd) == 0 && written == static_cast<ssize_t>(content.size());
}

bool read_whole_file(const std::string& path, Bytes& content) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  if (fd < 0) return false;
  struct stat about {};
  bool good = ::fstat(fd, &about) == 0;
  if (good) {
    content.resize(static_cast<std::size_t>(about.st_size));
    good = ::pread(fd, content.data(), content.size(), 0) == about.st_size;
  }
  ::close(fd);
  return good;
}

MPI_Info random_hints(Case& c, int ranks) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "choir_strategy", c.strategy.c_str());
  const auto buffer = c.rng.chance(70) ? c.rng.between(64, 4096) : c.rng.between(4096, 1 << 18);
  const auto nodes = c.rng.between(1, ranks);
  const bool threaded = c.rng.chance(30);
  const auto unit = c.rng.between(1, 64) * 16;
  const auto servers = c.rng.between(1, 5);
  if (!c.options.plain_hints) {
    MPI_Info_set(info, "cb_buffer_size", fmt::format("{}", buffer).c_str());
    MPI_Info_set(info, "cb_nodes", fmt::format("{}", nodes).c_str());
    MPI_Info_set(info, "choir_backend", threaded ? "threaded" : "auto");
    MPI_Info_set(info, "choir_striping_unit", fmt::format("{}", unit).c_str());
    MPI_Info_set(info, "choir_striping_factor", fmt::format("{}", servers).c_str());
  }
  c.note(fmt::format("hints: cb_buffer_size {} cb_nodes {} striping {} x {}{}", buffer, nodes,
                     servers, unit, threaded ? " threaded" : ""));
  return info;
}

}  // namespace

Case::Case(const Options& o, int i)
    : options(o),
      index(i),
      strategy(o.strategies[static_cast<std::size_t>(i) % o.strategies.size()]),
      rng(mix(o.seed) + static_cast<std::uint64_t>(i)) {
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
}

void Case::fail(const std::string& what) {
  if (failed) return;
  failed = true;
  fmt::print(stderr,
             "FAIL case {} strategy {} rank {} of {}, {}: {}\n"
             "  repeat with: --seed {} --first {} --cases 1 --strategies {}{}{}\n",
             index, strategy, world_rank, world_size, call, what, options.seed, index, strategy,
             options.nonblocking ? " --nonblocking" : "",
             options.plain_hints ? " --plain-hints" : "");
}

bool Case::expect_success(int code, const char* function) {
  if (code == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(fmt::format("{} returned an error: {}", function, text));
  return false;
}

void Case::note(const std::string& text) const {
  if (options.verbose && world_rank == 0) fmt::print("case {}: {}\n", index, text);
}

std::vector<int> random_members(Rng& rng, int world_size) {
  std::vector<int> members(static_cast<std::size_t>(world_size));
  std::iota(members.begin(), members.end(), 0);
  if (rng.chance(70)) return members;
  rng.shuffle(members);
  members.resize(static_cast<std::size_t>(rng.between(1, world_size)));
  return members;
}

MPI_Comm communicator_of(const std::vector<int>& members) {
  MPI_Group world;
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return comm;
}

std::int64_t TestFile::etype_size(int rank) const {
  return views.empty() ? 1 : views[static_cast<std::size_t>(rank)].etype.map().size();
}

const Typemap& TestFile::tile(int rank) const {
  return views.empty() ? byte_map : views[static_cast<std::size_t>(rank)].filetype.map();
}

std::int64_t TestFile::displacement(int rank) const {
  return views.empty() ? 0 : views[static_cast<std::size_t>(rank)].displacement;
}

bool open_file(Case& c, TestFile& file, MPI_Comm comm, int mode, std::int64_t existing_bytes,
               const std::string& name) {
  file.comm = comm;
  MPI_Comm_rank(comm, &file.me);
  MPI_Comm_size(comm, &file.ranks);
  file.mode = mode;
  file.path = c.options.directory + "/" + name;
  file.positions.assign(static_cast<std::size_t>(file.ranks), 0);
  file.passes_through = c.strategy == "native";
  // The host's libraries leave garbage in holes behind the old end of file, and loop or miscount
  // when they meet the end of file, so what they carry out by themselves never reaches it.
  if (file.passes_through && (mode & MPI_MODE_RDONLY)) existing_bytes = largest_file;
  MPI_Info info = random_hints(c, file.ranks);
  if (existing_bytes >= 0) {
    file.model = FileModel(pattern_bytes(static_cast<std::size_t>(existing_bytes), c.rng.next()));
    if (file.me == 0 && !write_whole_file(file.path, file.model.content()))
      c.fail(fmt::format("cannot prepare {}: {}", file.path, std::strerror(errno)));
  }
  MPI_Barrier(comm);
  c.call = "open";
  const int code = MPI_File_open(comm, file.path.c_str(), mode, info, &file.handle);
  MPI_Info_free(&info);
  if (!c.expect_success(code, "MPI_File_open")) return false;
  if (mode & MPI_MODE_APPEND)
    std::fill(file.positions.begin(), file.positions.end(), file.model.size());
  return true;
}

bool set_views(Case& c, TestFile& file, std::vector<ViewTypes> views) {
  file.views = std::move(views);
  std::fill(file.positions.begin(), file.positions.end(), 0);
  ViewTypes& mine = file.views[static_cast<std::size_t>(file.me)];
  mine.etype.commit();
  mine.filetype.commit();
  c.call = fmt::format("set_view(displacement {}, etype {}, filetype {})", mine.displacement,
                       mine.etype.text(), mine.filetype.text());
  c.note(c.call);
  const int code = MPI_File_set_view(file.handle, mine.displacement, mine.etype.handle(),
                                     mine.filetype.handle(), "native", MPI_INFO_NULL);
  // A view outlives the handles it was made from.
  mine.etype.free_handle();
  mine.filetype.free_handle();
  return c.expect_success(code, "MPI_File_set_view");
}

void ensure_size(Case& c, TestFile& file, std::int64_t bytes) {
  if (file.model.size() >= bytes) return;
  c.expect_success(MPI_File_set_size(file.handle, bytes), "MPI_File_set_size");
  file.model.extend(bytes);
}

void sync_file(Case& c, TestFile& file) {
  if (file.mode & MPI_MODE_RDONLY) return;
  c.expect_success(MPI_File_sync(file.handle), "MPI_File_sync");
  MPI_Barrier(file.comm);
  c.expect_success(MPI_File_sync(file.handle), "MPI_File_sync");
}

void compare_file(Case& c, TestFile& file) {
  if (file.me == 0) {
    Bytes found;
    const Bytes& expected = file.model.content();
    if (!read_whole_file(file.path, found)) {
      c.fail(fmt::format("cannot read {}: {}", file.path, std::strerror(errno)));
    } else if (found != expected) {
      std::size_t at = 0;
      while (at < std::min(found.size(), expected.size()) && found[at] == expected[at]) ++at;
      c.fail(
          fmt::format("file differs at byte {}: {} instead of {}; size {} instead of {}", at,
                      at < found.size() ? fmt::format("{:#04x}", found[at]) : "end of file",
                      at < expected.size() ? fmt::format("{:#04x}", expected[at]) : "end of file",
                      found.size(), expected.size()));
    }
  }
  MPI_Barrier(file.comm);
}

void close_file(Case& c, TestFile& file) {
  c.call = "close";
  if (file.handle != MPI_FILE_NULL)
    c.expect_success(MPI_File_close(&file.handle), "MPI_File_close");
  if (!c.failed && file.handle != MPI_FILE_NULL) c.fail("the handle is not null after close");
  MPI_Barrier(file.comm);
  compare_file(c, file);
  if (file.me == 0) ::unlink(file.path.c_str());
}

Transfer random_transfer(Rng& rng, const TestFile& file, int rank, std::int64_t offset,
                         std::int64_t most_bytes, bool tame) {
  const std::int64_t etype = file.etype_size(rank);
  Type memory =
      random_memory_type(rng, file.basic_bytes, file.basic_bytes == 1 && etype == 1, tame);
  const std::int64_t size = memory.map().size();
  const std::int64_t step = etype / std::gcd(etype, size);
  std::int64_t target = rng.between(0, rng.pick(std::vector<std::int64_t>{200, 3000, 20000}));
  if (rng.chance(20)) target = 0;
  target = std::min(target, most_bytes);
  std::int64_t count = target / size / step * step;
  if (count == 0 && target > 0 && size * step <= most_bytes) count = step;
  const bool dormant = !file.views.empty() && file.views[static_cast<std::size_t>(rank)].dormant;
  if (dormant) count = 0;
  std::vector<Segment> in_file;
  for (;; count = count / 2 / step * step) {
    in_file =
        stream_segments(file.tile(rank), file.displacement(rank), offset * etype, count * size);
    if (in_file.empty() || in_file.back().offset + in_file.back().length <= largest_file) break;
  }
  std::vector<Segment> in_memory = stream_segments(memory.map(), 0, 0, count * size);
  return {std::move(memory),    static_cast<int>(count), count * size, offset,
          std::move(in_memory), std::move(in_file)};
}

void check_status(Case& c, const Transfer& transfer, const MPI_Status& status, std::int64_t bytes) {
  const Typemap& map = transfer.memory.map();
  int count = -7;
  MPI_Get_count(&status, transfer.memory.handle(), &count);
  const int expected =
      bytes % map.size() == 0 ? static_cast<int>(bytes / map.size()) : MPI_UNDEFINED;
  if (count != expected)
    c.fail(fmt::format("MPI_Get_count gives {} instead of {} ({} of {} bytes)", count, expected,
                       bytes, transfer.bytes));
#if defined(MPICH_NAME)
  // MPICH 4.0 aborts in MPI_Get_elements on many nested types, whatever the status says.
  return;
#endif
  const std::int64_t whole = whole_elements(map, bytes);
  int elements = -7;
  MPI_Get_elements(&status, transfer.memory.handle(), &elements);
  if (whole >= 0 && elements != whole)
    c.fail(fmt::format("MPI_Get_elements gives {} instead of {}", elements, whole));
}

void check_buffer(Case& c, const Buffer& expected, const Buffer& found) {
  const std::int64_t at = expected.first_difference(found);
  if (at != Buffer::none)
    c.fail(fmt::format("buffer differs at byte {}: {:#04x} instead of {:#04x}", at, found.at(at),
                       expected.at(at)));
}

}  // namespace choir::test
