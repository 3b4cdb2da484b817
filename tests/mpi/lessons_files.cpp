// lessons_files.cpp: the functions around the data: hints, settings, views, sizes, pointers.
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "lessons.hpp"

namespace choir::test {
namespace {

/// Everyone writes `bytes` in blocks through a file opened with `info`.
void expect_interleaved_write(Checks& t, MPI_Info info, int block, int bytes, const char* what) {
  OpenFile fh(t, read_write, MPI_COMM_WORLD, info);
  set_interleaved_view(t, fh, block);
  const Bytes mine = pattern(bytes, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_all(fh, mine.data(), bytes, MPI_BYTE, &status), "write");
  make_visible(t, fh);
  t.expect_file(interleaved_file(t.ranks, block, bytes), what);
}

void hints_differ_by_rank(Checks& t) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "choir_strategy", t.rank % 2 ? "individual" : "two_phase");
  MPI_Info_set(info, "choir_cycle_buffer_bytes", t.rank % 2 ? "4096" : "65536");
  expect_interleaved_write(t, info, 100, 4000, "ranks with different hints");
  MPI_Info_free(&info);
}

std::string info_value(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = {};
  int flag = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  return flag ? value : "";
}

std::ptrdiff_t open_descriptors() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/fd"), Entries());
}

/// choir makes rooms of its own when a communicator is first used: nobody may notice.
void opening_leaves_nothing(Checks& t) {
  { const OpenFile first(t, read_write); }  // what the host MPI keeps for good
  const auto before = open_descriptors();
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  {
    OpenFile fh(t, read_write, comm);
    MPI_Offset size = -1;
    t.expect_success(MPI_File_get_size(fh, &size), "get_size");
    t.expect(size == 0, "a file nobody has written is empty");
    MPI_Info shown;
    t.expect_success(MPI_File_get_info(fh, &shown), "get_info");
    t.expect(info_value(shown, "choir_reason").empty(), "no call has been served yet");
    MPI_Info_free(&shown);
    expect_usable(t, fh);
  }
  MPI_Comm_free(&comm);
  t.expect(open_descriptors() == before, "descriptors that were left open");
}

/// The shared memory of choir that this process has mapped.
std::set<std::string> rooms_mapped() {
  std::set<std::string> rooms;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const auto name = line.find("/dev/shm/choir-"); name != std::string::npos)
      rooms.insert(line.substr(name));
  return rooms;
}

/// A library may duplicate its communicator for every file it opens: the room is made once.
void duplicates_share_a_room(Checks& t) {
  std::set<std::string> first;
  for (int time = 0; time < 3; ++time) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
      OpenFile fh(t, read_write, comm);
      expect_usable(t, fh);
    }
    MPI_Comm_free(&comm);
    if (time == 0) first = rooms_mapped();
    t.expect(first.size() == 1 && rooms_mapped() == first, "one room, and always the same");
  }
}

/// main() gave each rank another environment before MPI_Init.
void environment_by_rank(Checks& t) {
  expect_interleaved_write(t, MPI_INFO_NULL, 50, 5000, "ranks with different environment");
}

void delete_on_close(Checks& t) {
  OpenFile fh(t, read_write | MPI_MODE_DELETE_ON_CLOSE);
  expect_usable(t, fh);
  t.expect(::access(t.path.c_str(), F_OK) == 0, "the file exists while open");
  MPI_Barrier(MPI_COMM_WORLD);
  fh.close();
  MPI_Barrier(MPI_COMM_WORLD);
  t.expect(::access(t.path.c_str(), F_OK) != 0, "the file is gone after close");
}

void info_shows_strategy(Checks& t) {
  MPI_Info asked;
  MPI_Info_create(&asked);
  MPI_Info_set(asked, "choir_strategy", "two_phase");
  MPI_Info_set(asked, "cb_buffer_size", "131072");
  MPI_Info_set(asked, "cb_nodes", "1");
  {
    OpenFile fh(t, read_write, MPI_COMM_WORLD, asked);
    MPI_Info shown;
    t.expect_success(MPI_File_get_info(fh, &shown), "get_info");
    t.expect(info_value(shown, "choir_strategy") == "two_phase",
             "choir_strategy is '" + info_value(shown, "choir_strategy") + "'");
    t.expect(info_value(shown, "cb_buffer_size") == "131072", "cb_buffer_size in force");
    t.expect(info_value(shown, "cb_nodes") == "1", "cb_nodes in force");
    MPI_Info_free(&shown);
  }
  MPI_Info_free(&asked);
}

void set_info_changes_strategy(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Info wanted;
  MPI_Info_create(&wanted);
  for (const char* strategy : {"individual", "two_phase", "native"}) {
    MPI_Info_set(wanted, "choir_strategy", strategy);
    t.expect_success(MPI_File_set_info(fh, wanted), "set_info");
    MPI_Info shown;
    t.expect_success(MPI_File_get_info(fh, &shown), "get_info");
    t.expect(info_value(shown, "choir_strategy") == strategy, "set_info is obeyed");
    MPI_Info_free(&shown);
    expect_usable(t, fh);
  }
  MPI_Info_free(&wanted);
}

/// Cycle buffers are reserved at open: a larger wish is cut, and everybody can see it.
void set_info_says_what_holds(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Info wanted, shown;
  MPI_Info_create(&wanted);
  t.expect_success(MPI_File_get_info(fh, &shown), "get_info");
  const auto before = info_value(shown, "cb_buffer_size");
  MPI_Info_free(&shown);
  for (const auto& [wish, holds] :
       {std::pair<std::string, std::string>{"8192", "8192"}, {"1073741824", before}}) {
    MPI_Info_set(wanted, "cb_buffer_size", wish.c_str());
    t.expect_success(MPI_File_set_info(fh, wanted), "set_info");
    t.expect_success(MPI_File_get_info(fh, &shown), "get_info");
    t.expect(info_value(shown, "cb_buffer_size") == holds,
             "cb_buffer_size is " + info_value(shown, "cb_buffer_size") + " instead of " + holds);
    t.expect(info_value(shown, "choir_cycle_buffer_bytes") == holds, "choir_cycle_buffer_bytes");
    MPI_Info_free(&shown);
    expect_usable(t, fh);
  }
  MPI_Info_free(&wanted);
}

/// Whoever wrote a file first, its pages are made writable in a mapping where they are in memory,
/// and blocks are asked for where there are none.
void written_again_by_mapping(Checks& t) {
  constexpr int block = 16 << 10, bytes = 20 * block;
  OpenFile fh(t, read_write);
  MPI_Info wanted;
  MPI_Info_create(&wanted);
  const auto write = [&](const char* strategy, const Bytes& mine) {
    MPI_Info_set(wanted, "choir_strategy", strategy);
    t.expect_success(MPI_File_set_info(fh, wanted), "set_info");
    t.expect_success(
        MPI_File_write_at_all(fh, 0, mine.data(), size_of(mine), MPI_BYTE, MPI_STATUS_IGNORE),
        strategy);
  };
  for (const char* first : {"individual", "two_phase"}) {
    set_interleaved_view(t, fh, block);
    write(first, Bytes(bytes));
    for (int time = 0; time < 3; ++time) write("mapped", pattern(bytes, t.rank));
    make_visible(t, fh);
    t.expect_file(interleaved_file(t.ranks, block, bytes), "written again");
  }
  // Every second block is a hole at first.
  const int all = 2 * bytes;
  t.expect_success(MPI_File_set_size(fh, 0), "set_size");
  Type sparse = resized(contiguous(block, basic(1)), 0, 2 * block * t.ranks);
  sparse.commit();
  t.expect_success(
      MPI_File_set_view(fh, 2 * t.rank * block, MPI_BYTE, sparse.handle(), "native", MPI_INFO_NULL),
      "MPI_File_set_view");
  write("individual", Bytes(bytes));
  set_interleaved_view(t, fh, block);
  write("mapped", pattern(all, t.rank));
  make_visible(t, fh);
  t.expect_file(interleaved_file(t.ranks, block, all), "holes filled");
  MPI_Info_free(&wanted);
}

/// Hints as users write them: both old ROMIO and standard names, and values that make no sense.
void hints_of_users(Checks& t) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_ds_write", "disable");
  MPI_Info_set(info, "collective_buffering", "true");
  MPI_Info_set(info, "striping_unit", "65536");
  MPI_Info_set(info, "access_style", "write_mostly");
  MPI_Info_set(info, "choir_strategy", "no_such_strategy");
  MPI_Info_set(info, "choir_no_such_key", "1");
  expect_interleaved_write(t, info, 70, 7000, "with users' hints");
  MPI_Info_free(&info);
}

void get_view(Checks& t) {
  OpenFile fh(t, read_write);
  Type blocks = resized(vector(3, 2, 5, basic(4)), 0, 80);
  blocks.commit();
  t.expect_success(
      MPI_File_set_view(fh, 12 + t.rank, MPI_INT, blocks.handle(), "native", MPI_INFO_NULL),
      "set_view");
  MPI_Offset displacement = -1;
  MPI_Datatype etype;
  MPI_Datatype filetype;
  char name[MPI_MAX_DATAREP_STRING] = {};
  t.expect_success(MPI_File_get_view(fh, &displacement, &etype, &filetype, name), "get_view");
  MPI_Aint lb = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(filetype, &lb, &extent);
  int size = 0;
  MPI_Type_size(filetype, &size);
  t.expect(displacement == 12 + t.rank, "displacement");
  t.expect(extent == 80 && size == 24, "filetype");
  t.expect(std::strcmp(name, "native") == 0, "data representation");
  MPI_Offset byte = -1;
  t.expect_success(MPI_File_get_byte_offset(fh, 3, &byte), "get_byte_offset");
  t.expect(byte == 12 + t.rank + 24, "byte offset of the fourth element");
  for (MPI_Datatype* type : {&etype, &filetype}) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    MPI_Type_get_envelope(*type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(type);
  }
}

void seek_and_sizes(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Offset value = -1;
  t.expect_success(MPI_File_set_size(fh, 5000), "set_size");
  t.expect_success(MPI_File_get_size(fh, &value), "get_size");
  t.expect(value == 5000, "set_size");
  t.expect_success(MPI_File_seek(fh, -1000 + 10 * t.rank, MPI_SEEK_END), "seek from the end");
  t.expect_success(MPI_File_get_position(fh, &value), "get_position");
  t.expect(value == 4000 + 10 * t.rank, "position from the end");
  Bytes mine = pattern(10, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_all(fh, mine.data(), 10, MPI_BYTE, &status), "write_all");
  t.expect_success(MPI_File_get_position(fh, &value), "get_position");
  t.expect(value == 4010 + 10 * t.rank, "position after write_all");
  make_visible(t, fh);
  t.expect_success(MPI_File_set_size(fh, 4000 + 10 * t.ranks), "set_size");
  make_visible(t, fh);
  Bytes expected(4000);
  for (int r = 0; r < t.ranks; ++r) append(expected, pattern(10, r));
  t.expect_file(expected, "after set_size");
  int mode = 0;
  t.expect_success(MPI_File_get_amode(fh, &mode), "get_amode");
  t.expect((mode & MPI_MODE_RDWR) != 0, "get_amode");
}

void preallocate(Checks& t) {
  OpenFile fh(t, read_write);
  t.expect_success(MPI_File_preallocate(fh, 9000), "preallocate");
  fh.close();
  t.expect_file(Bytes(9000), "preallocated");
}

/// Holes that a program leaves take no space: one block of each rank, `stride` to the next.
void expect_holes(Checks& t, int block, MPI_Aint stride, int blocks) {
  OpenFile fh(t, read_write);
  MPI_Datatype plain = MPI_DATATYPE_NULL, spread = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(block, MPI_BYTE, &plain);
  MPI_Type_create_resized(plain, 0, stride * t.ranks, &spread);
  MPI_Type_commit(&spread);
  t.expect_success(
      MPI_File_set_view(fh, stride * t.rank, MPI_BYTE, spread, "native", MPI_INFO_NULL), "view");
  MPI_Type_free(&plain);
  MPI_Type_free(&spread);
  const Bytes mine = pattern(block * blocks, t.rank);
  for (int time = 0; time < 12; ++time)
    t.expect_success(
        MPI_File_write_at_all(fh, 0, mine.data(), size_of(mine), MPI_BYTE, MPI_STATUS_IGNORE),
        "write");
  make_visible(t, fh);
  struct stat info {};
  t.expect(stat(t.path.c_str(), &info) == 0, "stat");
  const auto written = std::int64_t{block} * blocks * t.ranks;
  t.expect(info.st_blocks * 512 < 2 * written + (1 << 20), "holes take no space");
  Bytes found(mine.size());
  t.expect_success(
      MPI_File_read_at_all(fh, 0, found.data(), size_of(found), MPI_BYTE, MPI_STATUS_IGNORE),
      "read");
  t.expect(found == mine, "what was written");
}

void holes_take_no_space(Checks& t) {
  expect_holes(t, 4096, MPI_Aint{256} << 20, 4);
  expect_holes(t, 256 << 10, 640 << 10, 16);  // not sparse, but holes it has
}

constexpr NamedCheck checks[] = {
    {"hints_differ_by_rank", hints_differ_by_rank},
    {"environment_by_rank", environment_by_rank},
    {"opening_leaves_nothing", opening_leaves_nothing},
    {"duplicates_share_a_room", duplicates_share_a_room},
    {"delete_on_close", delete_on_close},
    {"info_shows_strategy", info_shows_strategy},
    {"set_info_changes_strategy", set_info_changes_strategy},
    {"set_info_says_what_holds", set_info_says_what_holds},
    {"written_again_by_mapping", written_again_by_mapping},
    {"hints_of_users", hints_of_users},
    {"get_view", get_view},
    {"seek_and_sizes", seek_and_sizes},
    {"preallocate", preallocate},
    {"holes_take_no_space", holes_take_no_space},
};

}  // namespace

std::span<const NamedCheck> lessons_of_files() { return checks; }

}  // namespace choir::test
