// lessons_data.cpp: what a call moves: empty and uneven ranks, huge calls, types, views and modes.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "lessons.hpp"

namespace choir::test {
namespace {

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

/// Neighbours' blocks lie on the same pages of a file that has no blocks yet: whoever prepares the
/// pages for all may not do it over what others have stored. It showed in one of five files.
void new_files_interleaved(Checks& t) {
  constexpr int files = 12, block = 1000, bytes = 100 * block;
  const Bytes mine = pattern(bytes, t.rank);
  for (int i = 0; i < files; ++i) {
    OpenFile fh(t, read_write);
    set_interleaved_view(t, fh, block);
    MPI_Status status;
    t.expect_success(MPI_File_write_all(fh, mine.data(), bytes, MPI_BYTE, &status), "write");
    make_visible(t, fh);
    t.expect_file(interleaved_file(t.ranks, block, bytes), "interleaved blocks in a new file");
    fh.close();
    t.clean_up();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

constexpr NamedCheck checks[] = {
    {"empty_ranks", empty_ranks},
    {"uneven_sizes", uneven_sizes},
    {"large_call", large_call},
    {"read_past_end", read_past_end},
    {"write_only_with_holes", write_only_with_holes},
    {"nested_types", nested_types},
    {"absolute_addresses", absolute_addresses},
    {"overlapping_reads", overlapping_reads},
    {"append_mode", append_mode},
    {"atomic_mode", atomic_mode},
    {"external32", external32},
    {"shared_and_ordered", shared_and_ordered},
    {"view_change", view_change},
    {"bounded_memory", bounded_memory},
    {"new_files_interleaved", new_files_interleaved},
};

}  // namespace

std::span<const NamedCheck> lessons_of_data() { return checks; }

}  // namespace choir::test
