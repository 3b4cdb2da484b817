// lessons_large_counts.cpp: the functions with counts of MPI_Count, where the MPI library has them.
#include "lessons.hpp"

namespace choir::test {

#ifdef CHOIR_HAS_LARGE_COUNT
namespace {

/// More than 2^31 elements in one call, which only the large-count functions can say.
void large_count(Checks& t) {
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
}

/// Types made by large-count constructors inside other such types, as memory. (As views they end
/// programs of MPICH before 4.2: its own code does not know them.)
void large_count_types(Checks& t) {
  MPI_Datatype pairs, spread, record;
  const MPI_Count blocks[] = {1, 2}, at[] = {0, 64};
  MPI_Type_vector_c(3, 2, 5, MPI_SHORT, &pairs);  // 3 times 4 of 10 bytes
  MPI_Type_create_hindexed_c(2, blocks, at, pairs, &spread);
  MPI_Type_create_resized_c(spread, 0, 200, &record);
  MPI_Type_commit(&record);
  constexpr int records = 5;
  constexpr int bytes_of_record = 3 * 12;
  Bytes buffer = pattern(200 * records, t.rank);
  Bytes expected;
  for (int i = 0; i < records; ++i)
    for (const int start : {0, 64, 64 + 24})  // the second copy begins where the first ends
      for (int piece = 0; piece < 3; ++piece) {
        const auto from = buffer.begin() + 200 * i + start + 10 * piece;
        expected.insert(expected.end(), from, from + 4);
      }
  OpenFile fh(t, read_write);
  const MPI_Offset place = records * bytes_of_record * t.rank;
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all_c(fh, place, buffer.data(), records, record, &status),
                   "write of large-count types");
  Bytes found(expected.size());
  t.expect_success(MPI_File_read_at_all(fh, place, found.data(), size_of(found), MPI_BYTE, &status),
                   "read");
  t.expect(found == expected, "the bytes of large-count types");
  for (MPI_Datatype* type : {&record, &spread, &pairs}) MPI_Type_free(type);
}

constexpr NamedCheck checks[] = {
    {"large_count", large_count},
    {"large_count_types", large_count_types},
};

}  // namespace

std::span<const NamedCheck> lessons_of_large_counts() { return checks; }
#else
std::span<const NamedCheck> lessons_of_large_counts() { return {}; }
#endif

}  // namespace choir::test
