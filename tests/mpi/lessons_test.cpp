// lessons_test.cpp: what users of MPI-IO paid for, each as a check that can be run by its name.
//
// A plain MPI program: lessons_test NAME|all|--list [--dir DIR]. The checks of faults (fault_*)
// expect the environment to ask for them (CHOIR_FAULT), and `large_call` and `large_count` need
// some gigabytes of memory and disk.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "support/checks.hpp"

namespace choir::test {
namespace {

Bytes pattern(std::int64_t bytes, int owner) {
  return pattern_bytes(static_cast<std::size_t>(bytes), 1000 + static_cast<std::uint64_t>(owner));
}

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

/// Rank r sees `block` bytes at r * block of every tile of ranks * block bytes.
void set_interleaved_view(Checks& t, MPI_File fh, int block) {
  Type blocks = resized(contiguous(block, basic(1)), 0, block * t.ranks);
  blocks.commit();
  t.expect_success(
      MPI_File_set_view(fh, t.rank * block, MPI_BYTE, blocks.handle(), "native", MPI_INFO_NULL),
      "MPI_File_set_view");
}

/// What a file holds after every rank wrote `bytes` of its pattern through the interleaved view.
Bytes interleaved_file(int ranks, int block, int bytes) {
  FileModel model({});
  const Type one = contiguous(block, basic(1));
  for (int r = 0; r < ranks; ++r) {
    Typemap tile = one.map();
    tile.ub = std::int64_t{block} * ranks;
    model.write(stream_segments(tile, std::int64_t{r} * block, 0, bytes), pattern(bytes, r));
  }
  return model.content();
}

/// A collective write and read that must work: proves the file is usable after an error.
void expect_usable(Checks& t, MPI_File fh) {
  Bytes mine = pattern(500, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, 500 * t.rank, mine.data(), 500, MPI_BYTE, &status),
                   "the next write");
  Bytes found(500);
  t.expect_success(MPI_File_read_at_all(fh, 500 * t.rank, found.data(), 500, MPI_BYTE, &status),
                   "the next read");
  t.expect(found == mine, "the next call works");
}

void empty_ranks(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Status status;
  const bool writes = t.rank % 2 == 1;
  Bytes mine = pattern(writes ? 3000 : 0, t.rank);
  t.expect_success(
      MPI_File_write_at_all(fh, t.rank * 3000, mine.data(), size_of(mine), MPI_BYTE, &status),
      "write");
  t.expect(count_of(status, MPI_BYTE) == size_of(mine), "count of an empty rank");
  t.expect_success(MPI_File_write_all(fh, nullptr, 0, MPI_BYTE, &status), "everybody empty");
  t.expect(count_of(status, MPI_BYTE) == 0, "count of nothing");
  make_visible(t, fh);
  Bytes expected;
  for (int r = 0; r < t.ranks; ++r)
    if (r % 2 == 1) {
      expected.resize(static_cast<std::size_t>(r) * 3000);
      append(expected, pattern(3000, r));
    }
  t.expect_file(expected, "odd ranks wrote");
  Bytes found(t.rank == 0 ? expected.size() : 0);
  t.expect_success(MPI_File_read_at_all(fh, 0, found.data(), size_of(found), MPI_BYTE, &status),
                   "one rank reads");
  t.expect(t.rank != 0 || found == expected, "one rank reads everything");
}

void uneven_sizes(Checks& t) {
  const auto bytes_of = [&](int r) { return r == t.ranks - 1 ? 3 << 20 : 7 * r + 1; };
  std::int64_t before = 0;
  Bytes expected;
  for (int r = 0; r < t.ranks; ++r) {
    if (r < t.rank) before += bytes_of(r);
    append(expected, pattern(bytes_of(r), r));
  }
  OpenFile fh(t, read_write);
  Bytes mine = pattern(bytes_of(t.rank), t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, before, mine.data(), size_of(mine), MPI_BYTE, &status),
                   "write");
  make_visible(t, fh);
  t.expect_file(expected, "uneven blocks");
  Bytes found(mine.size());
  t.expect_success(
      MPI_File_read_at_all(fh, before, found.data(), size_of(found), MPI_BYTE, &status), "read");
  t.expect(found == mine, "uneven blocks read back");
}

constexpr std::array argument_errors{MPI_ERR_COUNT, MPI_ERR_ARG,   MPI_ERR_TYPE,
                                     MPI_ERR_IO,    MPI_ERR_OTHER, MPI_ERR_BUFFER};

void one_rank_bad_count(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(100, t.rank);
  MPI_Status status;
  const int count = t.rank == t.ranks - 1 ? -1 : 100;
  const int code = MPI_File_write_at_all(fh, 100 * t.rank, mine.data(), count, MPI_BYTE, &status);
  t.expect_same_error(code, argument_errors, "negative count on the last rank");
  expect_usable(t, fh);
}

void one_rank_bad_datatype(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(100, t.rank);
  MPI_Status status;
  const MPI_Datatype type = t.rank == 0 ? MPI_DATATYPE_NULL : MPI_BYTE;
  const int code = MPI_File_read_at_all(fh, 100 * t.rank, mine.data(), 100, type, &status);
  t.expect_same_error(code, argument_errors, "null datatype on rank 0");
  expect_usable(t, fh);
}

void one_rank_negative_offset(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(100, t.rank);
  MPI_Status status;
  const MPI_Offset at = t.rank == 0 ? -4 : 100 * t.rank;
  const int code = MPI_File_write_at_all(fh, at, mine.data(), 100, MPI_BYTE, &status);
  t.expect_same_error(code, argument_errors, "negative offset on rank 0");
  expect_usable(t, fh);
}

void hints_differ_by_rank(Checks& t) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "choir_strategy", t.rank % 2 ? "individual" : "two_phase");
  MPI_Info_set(info, "choir_cycle_buffer_bytes", t.rank % 2 ? "4096" : "65536");
  {
    OpenFile fh(t, read_write, MPI_COMM_WORLD, info);
    set_interleaved_view(t, fh, 100);
    Bytes mine = pattern(4000, t.rank);
    MPI_Status status;
    t.expect_success(MPI_File_write_all(fh, mine.data(), 4000, MPI_BYTE, &status), "write");
    make_visible(t, fh);
    t.expect_file(interleaved_file(t.ranks, 100, 4000), "ranks with different hints");
  }
  MPI_Info_free(&info);
}

/// More than 2 GiB from rank 0 in one call; a few bytes from the others behind it.
void large_call(Checks& t) {
  constexpr std::int64_t mebibytes = 2100;
  constexpr std::int64_t large = mebibytes << 20;
  const std::int64_t words = t.rank == 0 ? large / 8 : 16;
  std::vector<std::uint64_t> data(static_cast<std::size_t>(words));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = mix(i + static_cast<std::size_t>(t.rank));
  Type unit = t.rank == 0 ? contiguous(1 << 20, basic(1)) : contiguous(128, basic(1));
  unit.commit();
  const int count = t.rank == 0 ? mebibytes : 1;
  const MPI_Offset at = t.rank == 0 ? 0 : large + 128 * t.rank;
  OpenFile fh(t, read_write);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, at, data.data(), count, unit.handle(), &status),
                   "write of more than 2 GiB");
  t.expect(count_of(status, unit.handle()) == count, "count of a large write");
  make_visible(t, fh);
  std::vector<std::uint64_t> found(data.size());
  t.expect_success(MPI_File_read_at_all(fh, at, found.data(), count, unit.handle(), &status),
                   "read of more than 2 GiB");
  t.expect(count_of(status, unit.handle()) == count, "count of a large read");
  t.expect(found == data, "what was read back");
}

/// More than 2^31 elements in one call, which only the large-count functions can say.
void large_count([[maybe_unused]] Checks& t) {
#if MPI_VERSION >= 4
  constexpr MPI_Count large = (MPI_Count{1} << 31) + 4096;
  const MPI_Count count = t.rank == 0 ? large : 100;
  Bytes data(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < data.size(); i += 97)
    data[i] = static_cast<unsigned char>(mix(i + static_cast<std::size_t>(t.rank)));
  const MPI_Offset at = t.rank == 0 ? 0 : large + 128 * t.rank;
  OpenFile fh(t, read_write);
  MPI_Status status;
  MPI_Count moved = 0;
  t.expect_success(MPI_File_write_at_all_c(fh, at, data.data(), count, MPI_BYTE, &status),
                   "write of more than 2^31 elements");
  MPI_Get_elements_x(&status, MPI_BYTE, &moved);
  t.expect(moved == count, "elements of a large write");
  make_visible(t, fh);
  Bytes found(data.size());
  t.expect_success(MPI_File_read_at_all_c(fh, at, found.data(), count, MPI_BYTE, &status),
                   "read of more than 2^31 elements");
  MPI_Get_elements_x(&status, MPI_BYTE, &moved);
  t.expect(moved == count, "elements of a large read");
  t.expect(found == data, "what was read back");
#endif
}

/// Short transfers and interrupted ones are the library's own business (CHOIR_FAULT decides which).
void fault_transparent(Checks& t) {
  OpenFile fh(t, read_write);
  set_interleaved_view(t, fh, 333);
  Bytes mine = pattern(33300, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_all(fh, mine.data(), size_of(mine), MPI_BYTE, &status), "write");
  t.expect(count_of(status, MPI_BYTE) == size_of(mine), "count written");
  make_visible(t, fh);
  t.expect_file(interleaved_file(t.ranks, 333, 33300), "after short or interrupted transfers");
  Bytes found(mine.size());
  t.expect_success(MPI_File_read_at_all(fh, 0, found.data(), size_of(found), MPI_BYTE, &status),
                   "read");
  t.expect(found == mine, "read back");
}

/// Some call of many fails (CHOIR_FAULT says where); it must fail everywhere, with the right class.
void expect_fault(Checks& t, bool writing, int wanted_class) {
  t.create_file(pattern(1 << 20, 99));
  OpenFile fh(t, read_write);
  set_interleaved_view(t, fh, 512);
  Bytes mine = pattern(16384, t.rank);
  bool failed_once = false;
  for (int i = 0; i < 12; ++i) {
    MPI_Status status;
    const int code = writing ? MPI_File_write_at_all(fh, 0, mine.data(), 16384, MPI_BYTE, &status)
                             : MPI_File_read_at_all(fh, 0, mine.data(), 16384, MPI_BYTE, &status);
    const std::array accepted{MPI_SUCCESS, wanted_class};
    t.expect_same_error(code, accepted, fmt::format("call {}", i));
    failed_once = failed_once || code != MPI_SUCCESS;
  }
  t.expect(failed_once, "the injected fault was never reported");
}

void fault_full_disk(Checks& t) { expect_fault(t, true, MPI_ERR_NO_SPACE); }
void fault_read_error(Checks& t) { expect_fault(t, false, MPI_ERR_IO); }
void fault_write_error(Checks& t) { expect_fault(t, true, MPI_ERR_IO); }

/// The whole disk is full half way (a real limit of the kernel's, not an injected one).
void file_size_limit(Checks& t) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{1 << 20, before.rlim_max};
  OpenFile fh(t, read_write);
  MPI_Barrier(MPI_COMM_WORLD);
  t.expect(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
  Bytes mine = pattern(2 << 20, t.rank);
  MPI_Status status;
  const int code = MPI_File_write_at_all(fh, std::int64_t{t.rank} * (2 << 20), mine.data(),
                                         size_of(mine), MPI_BYTE, &status);
  constexpr std::array accepted{MPI_ERR_NO_SPACE, MPI_ERR_IO, MPI_ERR_QUOTA};
  t.expect_same_error(code, accepted, "write above the file-size limit");
  expect_usable(t, fh);
  setrlimit(RLIMIT_FSIZE, &before);
}

void read_past_end(Checks& t) {
  t.create_file(pattern(1000, 5));
  OpenFile fh(t, MPI_MODE_RDONLY);
  const std::int64_t at = 600 * t.rank;
  const std::int64_t there = std::clamp<std::int64_t>(1000 - at, 0, 600);
  Bytes found(600, 0xee);
  MPI_Status status;
  t.expect_success(MPI_File_read_at_all(fh, at, found.data(), 600, MPI_BYTE, &status), "read");
  t.expect(count_of(status, MPI_BYTE) == there,
           fmt::format("{} bytes instead of {}", count_of(status, MPI_BYTE), there));
  Bytes expected(600, 0xee);
  const Bytes whole = pattern(1000, 5);
  if (there > 0) std::copy_n(whole.begin() + at, there, expected.begin());
  t.expect(found == expected, "bytes before the end, and nothing else");
}

void write_only_with_holes(Checks& t) {
  const int block = 40;
  const Bytes old = pattern(block * 3 * t.ranks * 20, 77);
  t.create_file(old);
  OpenFile fh(t, MPI_MODE_WRONLY);
  Type third = resized(contiguous(block, basic(1)), 0, 3 * block * t.ranks);
  third.commit();
  const std::int64_t start = 3 * block * t.rank;
  t.expect_success(MPI_File_set_view(fh, start, MPI_BYTE, third.handle(), "native", MPI_INFO_NULL),
                   "set_view");
  Bytes mine = pattern(block * 20, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_all(fh, mine.data(), size_of(mine), MPI_BYTE, &status), "write");
  make_visible(t, fh);
  FileModel model(old);
  for (int r = 0; r < t.ranks; ++r)
    model.write(stream_segments(third.map(), 3 * block * r, 0, block * 20), pattern(block * 20, r));
  t.expect_file(model.content(), "holes between what was written");
}

/// Memory described by nested, resized types with negative bounds and descending blocks.
void nested_types(Checks& t) {
  const Type inner = resized(hindexed({2, 1}, {-16, 24}, basic(4)), -20, 64);
  Type outer = vector(5, 2, -3, inner);
  outer.commit();
  const int count = 7;
  const std::int64_t bytes = count * outer.map().size();
  const auto memory = stream_segments(outer.map(), 0, 0, bytes);
  Buffer source(outer.map(), count, 11);
  OpenFile fh(t, read_write);
  MPI_Status status;
  t.expect_success(
      MPI_File_write_at_all(fh, bytes * t.rank, source.base(), count, outer.handle(), &status),
      "write");
  t.expect(count_of(status, outer.handle()) == count, "count written");
  make_visible(t, fh);
  Bytes expected;
  for (int r = 0; r < t.ranks; ++r) append(expected, source.gather(memory));
  t.expect_file(expected, "nested memory type");
  Buffer found(outer.map(), count, 12);
  Buffer wanted = found;
  wanted.scatter(memory, source.gather(memory));
  t.expect_success(
      MPI_File_read_at_all(fh, bytes * t.rank, found.base(), count, outer.handle(), &status),
      "read");
  t.expect(wanted.first_difference(found) == Buffer::none, "memory, gaps included");
}

/// Buffers by absolute address: MPI_BOTTOM.
void absolute_addresses(Checks& t) {
  Bytes first = pattern(300, t.rank);
  Bytes second = pattern(200, t.rank + 50);
  const int blocks[2] = {300, 200};
  MPI_Aint at[2];
  MPI_Get_address(first.data(), &at[0]);
  MPI_Get_address(second.data(), &at[1]);
  MPI_Datatype both;
  MPI_Type_create_hindexed(2, blocks, at, MPI_BYTE, &both);
  MPI_Type_commit(&both);
  OpenFile fh(t, read_write);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, 500 * t.rank, MPI_BOTTOM, 1, both, &status), "write");
  make_visible(t, fh);
  Bytes expected;
  for (int r = 0; r < t.ranks; ++r) {
    append(expected, pattern(300, r));
    append(expected, pattern(200, r + 50));
  }
  t.expect_file(expected, "written from MPI_BOTTOM");
  std::ranges::fill(first, 0);
  t.expect_success(MPI_File_read_at_all(fh, 500 * t.rank, MPI_BOTTOM, 1, both, &status), "read");
  t.expect(first == pattern(300, t.rank), "read to MPI_BOTTOM");
  MPI_Type_free(&both);
}

void overlapping_reads(Checks& t) {
  const Bytes whole = pattern(50000, 3);
  t.create_file(whole);
  OpenFile fh(t, MPI_MODE_RDONLY);
  Bytes found(50000);
  MPI_Status status;
  t.expect_success(MPI_File_read_all(fh, found.data(), 50000, MPI_BYTE, &status), "read");
  t.expect(found == whole, "everybody reads everything");
  const int from = 1000 * t.rank % 40000;
  t.expect_success(MPI_File_read_at_all(fh, from, found.data(), 10000, MPI_BYTE, &status), "read");
  t.expect(std::equal(found.begin(), found.begin() + 10000, whole.begin() + from),
           "overlapping windows");
}

/// Wildcard receives of the program stay its own, on the file's communicator too.
void wildcard_receives(Checks& t) {
  int got[2] = {-1, -1};
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Request requests[2];
  MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[1]);
  {
    OpenFile fh(t, read_write, comm);
    set_interleaved_view(t, fh, 64);
    Bytes mine = pattern(64000, t.rank);
    MPI_Status status;
    t.expect_success(MPI_File_write_all(fh, mine.data(), 64000, MPI_BYTE, &status), "write");
    t.expect_success(MPI_File_read_at_all(fh, 0, mine.data(), 64000, MPI_BYTE, &status), "read");
    t.expect(mine == pattern(64000, t.rank), "data beside wildcard receives");
  }
  int done[2] = {1, 1};
  MPI_Test(&requests[0], &done[0], MPI_STATUS_IGNORE);
  MPI_Test(&requests[1], &done[1], MPI_STATUS_IGNORE);
  t.expect(!done[0] && !done[1], "a wildcard receive took a message that is not the program's");
  MPI_Barrier(MPI_COMM_WORLD);
  const int to = (t.rank + 1) % t.ranks;
  MPI_Send(&t.rank, 1, MPI_INT, to, 4711, MPI_COMM_WORLD);
  MPI_Send(&t.rank, 1, MPI_INT, to, 4712, comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  const int from = (t.rank + t.ranks - 1) % t.ranks;
  t.expect(got[0] == from && got[1] == from, "the program's own messages arrive");
  MPI_Comm_free(&comm);
}

/// Rounds of collective writes and reads on one file; runs in a thread of its own.
bool thread_rounds(MPI_File fh, int rank, int owner) {
  bool good = true;
  for (int i = 0; i < 5; ++i) {
    const Bytes mine = pattern(2000, rank + 10 * owner + i);
    Bytes found(2000);
    MPI_Status status;
    good = !MPI_File_write_at_all(fh, 2000 * rank, mine.data(), 2000, MPI_BYTE, &status) && good;
    good = !MPI_File_read_at_all(fh, 2000 * rank, found.data(), 2000, MPI_BYTE, &status) && good;
    good = found == mine && good;
  }
  return good;
}

/// Threads with a file each. Opened and closed one after the other: ROMIO holds one lock for the
/// whole process while it communicates, so that two threads in it can wait for each other for ever.
void thread_multiple(Checks& t) {
  int level = 0;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) return t.expect(false, "this MPI gives no MPI_THREAD_MULTIPLE");
  constexpr std::size_t threads = 2;
  std::array<MPI_File, threads> files;
  std::array<bool, threads> good{};
  for (std::size_t i = 0; i < threads; ++i)
    t.expect_success(MPI_File_open(MPI_COMM_WORLD, fmt::format("{}.{}", t.path, i).c_str(),
                                   read_write | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &files[i]),
                     "open");
  {
    std::vector<std::jthread> running;
    for (std::size_t i = 0; i < threads; ++i)
      running.emplace_back(
          [&, i] { good[i] = thread_rounds(files[i], t.rank, static_cast<int>(i)); });
  }
  for (std::size_t i = 0; i < threads; ++i) {
    t.expect(good[i], fmt::format("thread {}", i));
    t.expect_success(MPI_File_close(&files[i]), "close");
  }
}

/// main() gave each rank another environment before MPI_Init.
void environment_by_rank(Checks& t) {
  OpenFile fh(t, read_write);
  set_interleaved_view(t, fh, 50);
  Bytes mine = pattern(5000, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_all(fh, mine.data(), 5000, MPI_BYTE, &status), "write");
  make_visible(t, fh);
  t.expect_file(interleaved_file(t.ranks, 50, 5000), "ranks with different environment");
}

void truncated_while_open(Checks& t) {
  t.create_file(pattern(4000 * t.ranks, 1));
  OpenFile fh(t, MPI_MODE_RDWR);
  Bytes found(4000);
  MPI_Status status;
  t.expect_success(MPI_File_read_at_all(fh, 4000 * t.rank, found.data(), 4000, MPI_BYTE, &status),
                   "read before");
  MPI_Barrier(MPI_COMM_WORLD);
  if (t.rank == 0) t.expect(::truncate(t.path.c_str(), 10) == 0, "truncate");
  MPI_Barrier(MPI_COMM_WORLD);
  t.expect_success(MPI_File_read_at_all(fh, 4000 * t.rank, found.data(), 4000, MPI_BYTE, &status),
                   "read after");
  t.expect(count_of(status, MPI_BYTE) == (t.rank == 0 ? 10 : 0), "count after truncation");
  Bytes mine = pattern(4000, t.rank);
  t.expect_success(MPI_File_write_at_all(fh, 4000 * t.rank, mine.data(), 4000, MPI_BYTE, &status),
                   "write after");
  make_visible(t, fh);
  Bytes expected;
  for (int r = 0; r < t.ranks; ++r) append(expected, pattern(4000, r));
  t.expect_file(expected, "rewritten after truncation");
}

void deleted_while_open(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(3000, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, 3000 * t.rank, mine.data(), 3000, MPI_BYTE, &status),
                   "write before");
  MPI_Barrier(MPI_COMM_WORLD);
  if (t.rank == 0) t.expect(::unlink(t.path.c_str()) == 0, "unlink");
  MPI_Barrier(MPI_COMM_WORLD);
  mine = pattern(3000, t.rank + 20);
  t.expect_success(MPI_File_write_at_all(fh, 3000 * t.rank, mine.data(), 3000, MPI_BYTE, &status),
                   "write after");
  make_visible(t, fh);
  Bytes found(3000);
  t.expect_success(MPI_File_read_at_all(fh, 3000 * t.rank, found.data(), 3000, MPI_BYTE, &status),
                   "read after");
  t.expect(found == mine, "an open file outlives its name");
  t.expect(::access(t.path.c_str(), F_OK) != 0, "the name must not come back");
}

int handler_calls = 0;
int handler_class = 0;
void count_errors(MPI_File*, int* code, ...) {
  ++handler_calls;
  handler_class = error_class(*code);
}

void error_handlers(Checks& t) {
  t.create_file(pattern(100, 1));
  OpenFile fh(t, MPI_MODE_RDONLY);
  Bytes mine = pattern(10, t.rank);
  MPI_Status status;
  constexpr std::array accepted{MPI_ERR_READ_ONLY, MPI_ERR_ACCESS, MPI_ERR_AMODE};
  int code = MPI_File_write_at_all(fh, 10 * t.rank, mine.data(), 10, MPI_BYTE, &status);
  t.expect_same_error(code, accepted, "write to a read-only file");
  MPI_Errhandler mine_handler;
  MPI_File_create_errhandler(count_errors, &mine_handler);
  t.expect_success(MPI_File_set_errhandler(fh, mine_handler), "set_errhandler");
  handler_calls = 0;
  code = MPI_File_write_all(fh, mine.data(), 10, MPI_BYTE, &status);
  t.expect(handler_calls == 1, fmt::format("the handler was called {} times", handler_calls));
  t.expect(handler_class == error_class(code) || code == MPI_SUCCESS, "the handler's error class");
  MPI_Errhandler_free(&mine_handler);
  t.expect_success(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN), "set_errhandler");
  t.expect_success(MPI_File_read_at_all(fh, 0, mine.data(), 10, MPI_BYTE, &status), "next call");
}

void missing_file(Checks& t) {
  MPI_File fh = MPI_FILE_NULL;
  const int code =
      MPI_File_open(MPI_COMM_WORLD, t.path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
  constexpr std::array accepted{MPI_ERR_NO_SUCH_FILE};
  t.expect_same_error(code, accepted, "opening a file that is not there");
}

/// Never returns where the library keeps its word; registered as a test that must abort.
void errors_are_fatal(Checks& t) {
  t.create_file(pattern(100, 1));
  OpenFile fh(t, MPI_MODE_RDONLY);
  MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL);
  Bytes mine = pattern(10, t.rank);
  MPI_Status status;
  if (t.rank == 0) fmt::print("reached the fatal call\n");
  std::fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_write_at_all(fh, 0, mine.data(), 10, MPI_BYTE, &status);
  fmt::print("survived the fatal call\n");
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

void append_mode(Checks& t) {
  t.create_file(pattern(777, 1));
  OpenFile fh(t, MPI_MODE_WRONLY | MPI_MODE_APPEND);
  MPI_Offset position = 0;
  t.expect_success(MPI_File_get_position(fh, &position), "get_position");
  t.expect(position == 777, "append starts at the end");
  t.expect_success(MPI_File_seek(fh, 100 * t.rank, MPI_SEEK_CUR), "seek");
  Bytes mine = pattern(100, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_all(fh, mine.data(), 100, MPI_BYTE, &status), "write");
  make_visible(t, fh);
  Bytes expected = pattern(777, 1);
  for (int r = 0; r < t.ranks; ++r) append(expected, pattern(100, r));
  t.expect_file(expected, "appended");
}

void comm_self(Checks& t) {
  const std::string shared = t.path;
  t.path = fmt::format("{}.{}", shared, t.rank);
  {
    OpenFile fh(t, read_write | MPI_MODE_DELETE_ON_CLOSE, MPI_COMM_SELF);
    for (int i = 0; i <= t.rank; ++i) {  // a different number of calls on every rank
      Bytes mine = pattern(1000, i);
      Bytes found(1000);
      MPI_Status status;
      t.expect_success(MPI_File_write_all(fh, mine.data(), 1000, MPI_BYTE, &status), "write");
      t.expect_success(MPI_File_read_at_all(fh, 1000 * i, found.data(), 1000, MPI_BYTE, &status),
                       "read");
      t.expect(found == mine, "a file of one's own");
    }
  }
  t.path = shared;
}

void sub_communicators(Checks& t) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, t.rank % 2, -t.rank, &half);  // ranks in reverse order
  int me = 0;
  int members = 0;
  MPI_Comm_rank(half, &me);
  MPI_Comm_size(half, &members);
  const std::string shared = t.path;
  t.path = fmt::format("{}.{}", shared, t.rank % 2);
  {
    OpenFile fh(t, read_write | MPI_MODE_DELETE_ON_CLOSE, half);
    for (int i = 0; i < 3 + t.rank % 2; ++i) {
      Bytes mine = pattern(700, me + i);
      Bytes found(700);
      MPI_Status status;
      t.expect_success(MPI_File_write_at_all(fh, 700 * me, mine.data(), 700, MPI_BYTE, &status),
                       "write");
      make_visible(t, fh, half);
      const int other = (me + 1) % members;
      t.expect_success(MPI_File_read_at_all(fh, 700 * other, found.data(), 700, MPI_BYTE, &status),
                       "read");
      t.expect(found == pattern(700, other + i), "the neighbour's block");
      MPI_Barrier(half);
    }
  }
  t.path = shared;
  MPI_Comm_free(&half);
}

void atomic_mode(Checks& t) {
  OpenFile fh(t, read_write);
  t.expect_success(MPI_File_set_atomicity(fh, 1), "set_atomicity");
  int atomic = 0;
  t.expect_success(MPI_File_get_atomicity(fh, &atomic), "get_atomicity");
  t.expect(atomic == 1, "get_atomicity");
  Bytes mine = pattern(800, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, 800 * t.rank, mine.data(), 800, MPI_BYTE, &status),
                   "write");
  MPI_Barrier(MPI_COMM_WORLD);
  Bytes found(800);
  const int other = (t.rank + 1) % t.ranks;
  t.expect_success(MPI_File_read_at_all(fh, 800 * other, found.data(), 800, MPI_BYTE, &status),
                   "read");
  t.expect(found == pattern(800, other), "visible without sync in atomic mode");
  t.expect_success(MPI_File_set_atomicity(fh, 0), "set_atomicity");
  expect_usable(t, fh);
}

void external32(Checks& t) {
  OpenFile fh(t, read_write);
  t.expect_success(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL),
                   "set_view");
  const int value = 0x01020304 + t.rank;
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, t.rank, &value, 1, MPI_INT, &status), "write");
  make_visible(t, fh);
  Bytes expected;
  for (int r = 0; r < t.ranks; ++r) append(expected, {1, 2, 3, static_cast<std::uint8_t>(4 + r)});
  t.expect_file(expected, "big-endian in the file");
  int found = 0;
  t.expect_success(MPI_File_read_at_all(fh, t.rank, &found, 1, MPI_INT, &status), "read");
  t.expect(found == value, "and back");
}

/// Shared pointers and ordered calls see what collectives wrote, and the other way round.
void shared_and_ordered(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(100, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, 100 * t.rank, mine.data(), 100, MPI_BYTE, &status),
                   "write_at_all");
  make_visible(t, fh);
  t.expect_success(MPI_File_seek_shared(fh, 100 * t.ranks, MPI_SEEK_SET), "seek_shared");
  Bytes second = pattern(60, t.rank + 30);
  t.expect_success(MPI_File_write_ordered(fh, second.data(), 60, MPI_BYTE, &status),
                   "write_ordered");
  make_visible(t, fh);
  Bytes expected;
  for (int r = 0; r < t.ranks; ++r) append(expected, pattern(100, r));
  for (int r = 0; r < t.ranks; ++r) append(expected, pattern(60, r + 30));
  t.expect_file(expected, "ordered behind collective");
  Bytes all(expected.size());
  t.expect_success(MPI_File_read_at_all(fh, 0, all.data(), size_of(all), MPI_BYTE, &status),
                   "read_at_all");
  t.expect(all == expected, "collective read of ordered writes");
  t.expect_success(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), "seek_shared");
  Bytes found(100);
  t.expect_success(MPI_File_read_ordered(fh, found.data(), 100, MPI_BYTE, &status), "read_ordered");
  t.expect(found == mine, "ordered read of collective writes");
  MPI_Offset position = -1;
  MPI_File_get_position(fh, &position);
  t.expect(position == 0, "shared calls leave the individual pointer alone");
}

std::string info_value(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = {};
  int flag = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  return flag ? value : "";
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
  {
    OpenFile fh(t, read_write, MPI_COMM_WORLD, info);
    set_interleaved_view(t, fh, 70);
    Bytes mine = pattern(7000, t.rank);
    MPI_Status status;
    t.expect_success(MPI_File_write_all(fh, mine.data(), 7000, MPI_BYTE, &status), "write");
    make_visible(t, fh);
    t.expect_file(interleaved_file(t.ranks, 70, 7000), "with users' hints");
  }
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

void view_change(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Status status;
  FileModel model({});
  for (const int block : {16, 100, 7}) {
    set_interleaved_view(t, fh, block);
    Bytes mine = pattern(block * 12, t.rank + block);
    t.expect_success(MPI_File_write_all(fh, mine.data(), size_of(mine), MPI_BYTE, &status),
                     "write");
    MPI_Offset position = -1;
    MPI_File_get_position(fh, &position);
    t.expect(position == block * 12, "a new view starts at 0");
    make_visible(t, fh);
    const Type tile = resized(contiguous(block, basic(1)), 0, block * t.ranks);
    for (int r = 0; r < t.ranks; ++r)
      model.write(stream_segments(tile.map(), std::int64_t{r} * block, 0, block * 12),
                  pattern(block * 12, r + block));
  }
  t.expect_file(model.content(), "three views, one after the other");
}

/// Aggregators use the buffers they were given, not memory in proportion to the call.
void bounded_memory(Checks& t) {
  constexpr int megabytes = 48;
  Bytes mine = pattern(std::int64_t{megabytes} << 20, t.rank);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "1048576");
  // One that gathers: a mapping of the file (mapped) counts as resident too, but is the page cache.
  MPI_Info_set(info, "choir_strategy", "two_phase");
  {
    OpenFile fh(t, read_write, MPI_COMM_WORLD, info);
    set_interleaved_view(t, fh, 4096);
    MPI_Status status;
    t.expect_success(MPI_File_write_at_all(fh, 0, mine.data(), 1 << 16, MPI_BYTE, &status),
                     "first write");
    rusage before{};
    rusage after{};
    getrusage(RUSAGE_SELF, &before);
    t.expect_success(MPI_File_write_at_all(fh, 0, mine.data(), size_of(mine), MPI_BYTE, &status),
                     "large write");
    getrusage(RUSAGE_SELF, &after);
    const long grown = (after.ru_maxrss - before.ru_maxrss) / 1024;
    t.expect(grown < megabytes / 2, fmt::format("memory grew by {} MiB", grown));
  }
  MPI_Info_free(&info);
}

constexpr NamedCheck checks[] = {
    {"empty_ranks", empty_ranks},
    {"uneven_sizes", uneven_sizes},
    {"one_rank_bad_count", one_rank_bad_count},
    {"one_rank_bad_datatype", one_rank_bad_datatype},
    {"one_rank_negative_offset", one_rank_negative_offset},
    {"hints_differ_by_rank", hints_differ_by_rank},
    {"large_call", large_call},
    {"large_count", large_count},
    {"fault_transparent", fault_transparent},
    {"fault_full_disk", fault_full_disk},
    {"fault_read_error", fault_read_error},
    {"fault_write_error", fault_write_error},
    {"file_size_limit", file_size_limit},
    {"read_past_end", read_past_end},
    {"write_only_with_holes", write_only_with_holes},
    {"nested_types", nested_types},
    {"absolute_addresses", absolute_addresses},
    {"overlapping_reads", overlapping_reads},
    {"wildcard_receives", wildcard_receives},
    {"thread_multiple", thread_multiple},
    {"environment_by_rank", environment_by_rank},
    {"truncated_while_open", truncated_while_open},
    {"deleted_while_open", deleted_while_open},
    {"error_handlers", error_handlers},
    {"missing_file", missing_file},
    {"errors_are_fatal", errors_are_fatal},
    {"delete_on_close", delete_on_close},
    {"append_mode", append_mode},
    {"comm_self", comm_self},
    {"sub_communicators", sub_communicators},
    {"atomic_mode", atomic_mode},
    {"external32", external32},
    {"shared_and_ordered", shared_and_ordered},
    {"info_shows_strategy", info_shows_strategy},
    {"set_info_changes_strategy", set_info_changes_strategy},
    {"hints_of_users", hints_of_users},
    {"get_view", get_view},
    {"seek_and_sizes", seek_and_sizes},
    {"preallocate", preallocate},
    {"view_change", view_change},
    {"bounded_memory", bounded_memory},
};

int thread_level(const std::string& name) {
  return name == "thread_multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

/// Settings that would split the ranks if each read its own environment.
void vary_environment() {
  const char* rank = std::getenv("PMI_RANK");
  if (!rank) rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) return;
  const bool odd = std::atoi(rank) % 2 == 1;
  ::setenv("CHOIR_STRATEGY", odd ? "individual" : "two_phase", 1);
  ::setenv("CHOIR_CYCLE_BUFFER_BYTES", odd ? "4096" : "1048576", 1);
}

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  using namespace choir::test;
  if (argc > 1 && std::strcmp(argv[1], "environment_by_rank") == 0) vary_environment();
  return run_checks(argc, argv, checks, thread_level);
}
