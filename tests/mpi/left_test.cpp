// left_test.cpp: calls that choir leaves to the MPI library, and those it must not leave.
//
// What the table says of each check is demanded in CMakeLists.txt; here the bytes are.
#include <fmt/format.h>

#include <algorithm>

#include "support/checks.hpp"

namespace choir::test {
namespace {

constexpr int block = 64, blocks = 8;

Bytes pattern(std::int64_t bytes, int owner) {
  return pattern_bytes(static_cast<std::size_t>(bytes), static_cast<std::uint64_t>(owner) + 1);
}

/// Every `ranks`-th block is the rank's. Its span is longer than its extent, `extent`.
class Comb {
 public:
  Comb(const Checks& t, int extent) {
    MPI_Datatype comb = MPI_DATATYPE_NULL;
    MPI_Type_vector(blocks, block, block * t.ranks, MPI_BYTE, &comb);
    MPI_Type_create_resized(comb, 0, extent, &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&comb);
  }
  Comb(const Comb&) = delete;
  Comb& operator=(const Comb&) = delete;
  ~Comb() { MPI_Type_free(&type_); }
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

constexpr int comb_bytes = block * blocks;

/// What the file holds after every rank wrote its pattern through its comb.
Bytes combed(const Checks& t) {
  Bytes file(static_cast<std::size_t>(comb_bytes) * static_cast<std::size_t>(t.ranks));
  for (int rank = 0; rank < t.ranks; ++rank) {
    const auto mine = pattern(comb_bytes, rank);
    for (int i = 0; i < blocks; ++i)
      std::copy_n(mine.begin() + i * block, block, file.begin() + (i * t.ranks + rank) * block);
  }
  return file;
}

/// PnetCDF's views under Open MPI look like this.
void span_beyond_extent(Checks& t) {
  const Comb comb(t, block);
  OpenFile fh(t, read_write);
  t.expect_success(MPI_File_set_view(fh, t.rank * block, MPI_BYTE, comb, "native", MPI_INFO_NULL),
                   "set_view");
  Bytes mine = pattern(comb_bytes, t.rank), found(mine.size());
  MPI_Status status;
  t.expect_success(MPI_File_write_all(fh, mine.data(), comb_bytes, MPI_BYTE, &status), "write");
  t.expect(count_of(status, MPI_BYTE) == comb_bytes, "count written");
  make_visible(t, fh);
  t.expect_file(combed(t), "after one tile of each rank");
  t.expect_success(MPI_File_read_at_all(fh, 0, found.data(), comb_bytes, MPI_BYTE, &status),
                   "read");
  t.expect(found == mine, "what was read");
  MPI_Request request = MPI_REQUEST_NULL;
  found.assign(found.size(), 0);
  t.expect_success(MPI_File_iread_at_all(fh, 0, found.data(), comb_bytes, MPI_BYTE, &request),
                   "iread");
  t.expect_success(MPI_Wait(&request, &status), "wait");
  t.expect(found == mine && count_of(status, MPI_BYTE) == comb_bytes, "what was iread");
}

/// Columns of a matrix, one tile each: the second one begins a block further on.
void later_tiles(Checks& t) {
  t.create_file(combed(t));
  const Comb comb(t, block);
  OpenFile fh(t, MPI_MODE_RDONLY);
  t.expect_success(MPI_File_set_view(fh, 0, MPI_BYTE, comb, "native", MPI_INFO_NULL), "set_view");
  const int other = (t.rank + 1) % t.ranks;
  Bytes found(comb_bytes);
  MPI_Status status;
  t.expect_success(MPI_File_read_at_all(fh, MPI_Offset{other} * comb_bytes, found.data(),
                                        comb_bytes, MPI_BYTE, &status),
                   "read");
  t.expect(found == pattern(comb_bytes, other), "the neighbour's column");
  t.expect_success(MPI_File_read_at_all(fh, MPI_Offset{other} * comb_bytes + block, found.data(),
                                        block, MPI_BYTE, &status),
                   "read of a part");
  const auto whole = pattern(comb_bytes, other);
  t.expect(std::equal(found.begin(), found.begin() + block, whole.begin() + block), "a part");
}

/// The last rank reads on into its next tile, which begins before the end of this one.
void backwards(Checks& t) {
  t.create_file(combed(t));
  const Comb comb(t, block);
  OpenFile fh(t, MPI_MODE_RDONLY);
  t.expect_success(MPI_File_set_view(fh, 0, MPI_BYTE, comb, "native", MPI_INFO_NULL), "set_view");
  const int bytes = t.rank == t.ranks - 1 ? 2 * comb_bytes : comb_bytes;
  Bytes found(static_cast<std::size_t>(bytes)), expected = pattern(comb_bytes, 0);
  if (bytes > comb_bytes) {
    const auto next = pattern(comb_bytes, 1);
    expected.insert(expected.end(), next.begin(), next.end());
  }
  MPI_Status status;
  t.expect_success(MPI_File_read_all(fh, found.data(), bytes, MPI_BYTE, &status), "read");
  t.expect(found == expected, "blocking");
  MPI_Offset position = 0;
  t.expect_success(MPI_File_get_position(fh, &position), "position");
  t.expect(position == bytes, fmt::format("the file pointer is at {}", position));
  found.assign(found.size(), 0);
  MPI_Request request = MPI_REQUEST_NULL;
  t.expect_success(MPI_File_iread_at_all(fh, 0, found.data(), bytes, MPI_BYTE, &request), "iread");
  t.expect_success(MPI_Wait(&request, &status), "wait");
  t.expect(found == expected && count_of(status, MPI_BYTE) == bytes, "nonblocking");
  found.assign(found.size(), 0);
  t.expect_success(MPI_File_read_at_all_begin(fh, 0, found.data(), bytes, MPI_BYTE), "begin");
  t.expect_success(MPI_File_read_at_all_end(fh, found.data(), &status), "end");
  t.expect(found == expected && count_of(status, MPI_BYTE) == bytes, "split");
}

void write_and_read(Checks& t, MPI_File fh) {
  Bytes mine = pattern(1000, t.rank), found(mine.size());
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, 1000 * t.rank, mine.data(), 1000, MPI_BYTE, &status),
                   "write");
  make_visible(t, fh);
  t.expect_success(MPI_File_read_at_all(fh, 1000 * t.rank, found.data(), 1000, MPI_BYTE, &status),
                   "read");
  t.expect(found == mine, "what was read");
}

void external32(Checks& t) {
  OpenFile fh(t, read_write);
  t.expect_success(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL),
                   "set_view");
  write_and_read(t, fh);
}

void atomic_mode(Checks& t) {
  OpenFile fh(t, read_write);
  t.expect_success(MPI_File_set_atomicity(fh, 1), "set_atomicity");
  write_and_read(t, fh);
}

void shared_pointer(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes mine = pattern(100, t.rank);
  MPI_Status status;
  t.expect_success(MPI_File_write_ordered(fh, mine.data(), 100, MPI_BYTE, &status), "ordered");
  t.expect_success(MPI_File_write_ordered_begin(fh, mine.data(), 100, MPI_BYTE), "begin");
  t.expect_success(MPI_File_write_ordered_end(fh, mine.data(), &status), "end");
  Bytes expected;
  for (int twice = 0; twice < 2; ++twice)
    for (int rank = 0; rank < t.ranks; ++rank) {
      const auto one = pattern(100, rank);
      expected.insert(expected.end(), one.begin(), one.end());
    }
  make_visible(t, fh);
  t.expect_file(expected, "in the order of ranks");
}

void plain(Checks& t) {
  OpenFile fh(t, read_write);
  write_and_read(t, fh);
}

constexpr NamedCheck checks[] = {
    {"span_beyond_extent", span_beyond_extent},
    {"later_tiles", later_tiles},
    {"backwards", backwards},
    {"external32", external32},
    {"atomic_mode", atomic_mode},
    {"shared_pointer", shared_pointer},
    {"plain", plain},
};

int thread_level(const std::string&) { return MPI_THREAD_SINGLE; }

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  return choir::test::run_checks(argc, argv, choir::test::checks, choir::test::thread_level);
}
