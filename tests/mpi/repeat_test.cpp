// repeat_test.cpp: blocking calls that are made again and again, and what may come between them:
// a rank that asks otherwise, a rank that is late, an error, the end of the file, a file cut short.
//
// Each check repeats a call until every rank runs ahead, and then disturbs that. A plain MPI
// program: repeat_test NAME|all|--list [--dir DIR].
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "support/checks.hpp"

namespace choir::test {
namespace {

constexpr int block = 4096;
/// Calls after which a fixed strategy has been examined enough to be run ahead.
constexpr int warm = 8;

Bytes pattern(int round, int owner) {
  return pattern_bytes(block, std::uint64_t{1000} * static_cast<std::uint64_t>(round) +
                                  static_cast<std::uint64_t>(owner));
}

void write_at(Checks& t, MPI_File fh, MPI_Offset at, const Bytes& bytes, int count) {
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all(fh, at, bytes.data(), count, MPI_BYTE, &status), "write");
  t.expect(count_of(status, MPI_BYTE) == count, fmt::format("{} bytes were written", count));
}

/// Rounds of one block per rank, each round further on; what the file must have.
Bytes write_rounds(Checks& t, MPI_File fh, int rounds) {
  Bytes expected;
  for (int round = 0; round < rounds; ++round) {
    write_at(t, fh, MPI_Offset{block} * (t.ranks * round + t.rank), pattern(round, t.rank), block);
    for (int r = 0; r < t.ranks; ++r) {
      const Bytes theirs = pattern(round, r);
      expected.insert(expected.end(), theirs.begin(), theirs.end());
    }
  }
  return expected;
}

void read_rounds(Checks& t, MPI_File fh, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Bytes found(block);
    MPI_Status status;
    t.expect_success(MPI_File_read_at_all(fh, MPI_Offset{block} * (t.ranks * round + t.rank),
                                          found.data(), block, MPI_BYTE, &status),
                     "read");
    t.expect(found == pattern(round, t.rank) && count_of(status, MPI_BYTE) == block,
             fmt::format("round {} as it was written", round));
  }
}

void further_on(Checks& t) {
  OpenFile file(t, read_write);
  const Bytes expected = write_rounds(t, file, 4 * warm);
  read_rounds(t, file, 4 * warm);
  make_visible(t, file);
  t.expect_file(expected, "all rounds");
}

/// Blocks of many pages, whose memory and place in the file lie differently in their pages; again
/// and again over the same ground, and once where a window of a mapping ends.
void large_blocks(Checks& t) {
  OpenFile file(t, read_write);
  constexpr MPI_Offset large = 150'001;
  constexpr MPI_Offset edge = MPI_Offset{64} << 20;
  const auto place = [&](int round) {
    const MPI_Offset number = t.ranks * (round % warm) + t.rank;
    const MPI_Offset begin = round < 4 * warm ? 0 : edge - large / 2 - large * t.ranks;
    return begin + number * large;
  };
  const auto content = [&](int round) {
    const int seed = 100 * (round < 4 * warm ? round % warm : round) + t.rank;
    return pattern_bytes(std::size_t{large}, static_cast<std::uint64_t>(seed));
  };
  const auto rounds = 4 * warm + 2;
  for (int round = 0; round < rounds; ++round)
    write_at(t, file, place(round), content(round), static_cast<int>(large));
  make_visible(t, file);
  for (int round = 0; round < rounds; ++round) {
    Bytes found(std::size_t{large} + 64);
    const int shift = 16 * (round % 4);
    MPI_Status status;
    t.expect_success(MPI_File_read_at_all(file, place(round), found.data() + shift,
                                          static_cast<int>(large), MPI_BYTE, &status),
                     "read");
    const Bytes expected = content(round);
    t.expect(count_of(status, MPI_BYTE) == static_cast<int>(large) &&
                 std::equal(expected.begin(), expected.end(), found.begin() + shift),
             fmt::format("round {} as it was written", round));
  }
}

/// By the file pointer and through a view with holes.
void through_a_view(Checks& t) {
  OpenFile file(t, read_write);
  constexpr int piece = 64;
  MPI_Datatype row = MPI_DATATYPE_NULL, rows = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(piece, MPI_BYTE, &row);
  MPI_Type_create_resized(row, 0, MPI_Aint{piece} * t.ranks, &rows);
  MPI_Type_free(&row);
  MPI_Type_commit(&rows);
  t.expect_success(
      MPI_File_set_view(file, MPI_Offset{piece} * t.rank, MPI_BYTE, rows, "native", MPI_INFO_NULL),
      "set_view");
  MPI_Type_free(&rows);
  for (int round = 0; round < 3 * warm; ++round) {
    const Bytes mine = pattern(round, t.rank);
    t.expect_success(MPI_File_write_all(file, mine.data(), block, MPI_BYTE, MPI_STATUS_IGNORE),
                     "write_all");
  }
  MPI_Offset position = 0;
  MPI_File_get_position(file, &position);
  t.expect(position == MPI_Offset{block} * 3 * warm, "where the pointer is");
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  for (int round = 0; round < 3 * warm; ++round) {
    Bytes found(block);
    t.expect_success(MPI_File_read_all(file, found.data(), block, MPI_BYTE, MPI_STATUS_IGNORE),
                     "read_all");
    t.expect(found == pattern(round, t.rank), fmt::format("round {} as it was written", round));
  }
}

/// Rank 0 asks for less, or elsewhere, while the others repeat: nobody may be left behind, and
/// every byte is where it was meant to be. Often enough that the pattern is no longer run ahead.
void one_rank_asks_otherwise(Checks& t) {
  OpenFile file(t, read_write);
  Bytes expected = write_rounds(t, file, warm);
  for (int time = 0; time < 6; ++time) {
    const int round = time % warm;
    const bool otherwise = t.rank == 0;
    const int count = otherwise && time % 2 == 0 ? 100 : block;
    const int shift = otherwise && time % 2 == 1 ? block * t.ranks * warm : 0;
    write_at(t, file, MPI_Offset{block} * (t.ranks * round + t.rank) + shift,
             pattern(50 + time, t.rank), count);
    for (int r = 0; r < t.ranks; ++r) {
      const Bytes theirs = pattern(50 + time, r);
      const auto bytes = static_cast<std::ptrdiff_t>(r == 0 && time % 2 == 0 ? 100 : block);
      auto at = std::size_t{block} * static_cast<std::size_t>(t.ranks * round + r);
      if (r == 0 && time % 2 == 1)
        at += std::size_t{block} * static_cast<std::size_t>(t.ranks * warm);
      expected.resize(std::max(expected.size(), at + static_cast<std::size_t>(bytes)));
      std::copy_n(theirs.begin(), bytes, expected.begin() + static_cast<std::ptrdiff_t>(at));
    }
    write_at(t, file, MPI_Offset{block} * (t.ranks * 7 + t.rank), pattern(7, t.rank), block);
    for (int r = 0; r < t.ranks; ++r) {
      const Bytes theirs = pattern(7, r);
      std::copy(theirs.begin(), theirs.end(), expected.begin() + block * (t.ranks * 7 + r));
    }
  }
  make_visible(t, file);
  t.expect_file(expected, "what all ranks asked for");
}

/// Longer than anybody looks for the others before it sleeps.
void one_rank_is_late(Checks& t) {
  OpenFile file(t, read_write);
  Bytes expected = write_rounds(t, file, warm);
  for (int time = 0; time < 4; ++time) {
    if (t.rank == time % t.ranks) usleep(20000);
    write_at(t, file, MPI_Offset{block} * t.rank, pattern(80 + time, t.rank), block);
  }
  for (int r = 0; r < t.ranks; ++r) {
    const Bytes theirs = pattern(83, r);
    std::copy(theirs.begin(), theirs.end(), expected.begin() + block * r);
  }
  make_visible(t, file);
  t.expect_file(expected, "the last of them");
}

/// A bad argument on one rank is an error of all, and what comes after is as before.
void one_rank_has_an_error(Checks& t) {
  OpenFile file(t, read_write);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  const Bytes expected = write_rounds(t, file, warm);
  const Bytes mine = pattern(0, t.rank);
  for (int time = 0; time < 3; ++time) {
    const int code = MPI_File_write_at_all(file, MPI_Offset{block} * t.rank, mine.data(),
                                           t.rank == 0 ? -1 : block, MPI_BYTE, MPI_STATUS_IGNORE);
    t.expect_same_error(code, std::array{MPI_ERR_COUNT}, "a negative count on rank 0");
    write_at(t, file, MPI_Offset{block} * t.rank, mine, block);
  }
  make_visible(t, file);
  t.expect_file(expected, "what was asked without error");
}

/// Storage fails on one rank (CHOIR_FAULT) in the middle of repeated calls.
void storage_fails(Checks& t) {
  OpenFile file(t, read_write);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  int failures = 0;
  for (int round = 0; round < 3 * warm; ++round) {
    const Bytes mine = pattern(round, t.rank);
    const int code = MPI_File_write_at_all(file, MPI_Offset{block} * (t.ranks * round + t.rank),
                                           mine.data(), block, MPI_BYTE, MPI_STATUS_IGNORE);
    int all[2] = {code == MPI_SUCCESS ? 0 : error_class(code), 0};
    all[1] = -all[0];
    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    t.expect(all[0] == -all[1], fmt::format("the same outcome of round {} on all ranks", round));
    if (code != MPI_SUCCESS) {
      ++failures;
      t.expect(error_class(code) == MPI_ERR_NO_SPACE, "the class of a full disk");
    }
  }
  t.expect(failures > 0, "the disk was full at some time");
}

/// Reads that are repeated towards the end of the file get less, and then nothing.
void end_of_file(Checks& t) {
  OpenFile file(t, read_write);
  write_rounds(t, file, warm);
  make_visible(t, file);
  read_rounds(t, file, warm);
  t.expect_success(MPI_File_set_size(file, MPI_Offset{block} * t.ranks * (warm - 1) + 100), "size");
  Bytes found(block);
  for (int round = 0; round < warm + 2; ++round) {
    MPI_Status status;
    t.expect_success(MPI_File_read_at_all(file, MPI_Offset{block} * (t.ranks * round + t.rank),
                                          found.data(), block, MPI_BYTE, &status),
                     "read");
    const int expected = round < warm - 1 ? block : round == warm - 1 && t.rank == 0 ? 100 : 0;
    t.expect(count_of(status, MPI_BYTE) == expected,
             fmt::format("{} bytes in round {}", expected, round));
  }
}

/// Somebody else cuts the file, into the middle of a page and to nothing; then it is written again.
void cut_by_others(Checks& t) {
  OpenFile file(t, read_write);
  Bytes expected = write_rounds(t, file, warm);
  for (const int left : {100, 0}) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (t.rank == 0) t.expect(truncate(t.path.c_str(), left) == 0, "truncate");
    MPI_Barrier(MPI_COMM_WORLD);
    write_rounds(t, file, warm);
    make_visible(t, file);
    t.expect_file(expected, fmt::format("written again after it was cut to {} bytes", left));
  }
}

/// Blocks of different sizes side by side, and every third rank has none: first not rank 0, which
/// writes for others where one does, then rank 0 too.
void unequal_blocks(Checks& t) {
  OpenFile file(t, read_write);
  Bytes expected;
  for (int round = 0; round < 4 * warm; ++round) {
    const int first = round < 2 * warm ? 1 : 0;
    const auto bytes_of = [&](int r) { return 1000 * ((r + first) % 3); };
    auto at = static_cast<MPI_Offset>(expected.size());
    for (int r = 0; r < t.ranks; ++r) {
      const Bytes theirs = pattern(round, r);
      if (r < t.rank) at += bytes_of(r);
      expected.insert(expected.end(), theirs.begin(), theirs.begin() + bytes_of(r));
    }
    write_at(t, file, at, pattern(round, t.rank), bytes_of(t.rank));
  }
  make_visible(t, file);
  t.expect_file(expected, "all rounds");
}

/// Reads of which each is the first of its pattern: small blocks, in some of which one rank asks
/// for nothing, for much more, for what lies beyond the end, or has a bad argument.
void first_reads(Checks& t) {
  OpenFile file(t, read_write);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  constexpr int room = 64 * 1024;
  const auto content = [](int owner) {
    return pattern_bytes(room, 500U + static_cast<unsigned>(owner));
  };
  const Bytes mine = content(t.rank);
  write_at(t, file, MPI_Offset{room} * t.rank, mine, room);
  make_visible(t, file);
  for (int call = 0; call < 40; ++call) {
    const int kind = call % 5;
    const bool odd_one = t.rank == call / 5 % t.ranks;
    const bool past_end = odd_one && kind == 3, refused = odd_one && kind == 4;
    const int wanted = odd_one && kind == 1 ? 0 : odd_one && kind == 2 ? 40'000 : 100 + call;
    const MPI_Offset at =
        past_end ? MPI_Offset{room} * t.ranks - 50 : MPI_Offset{room} * t.rank + call;
    Bytes found(room);
    MPI_Status status;
    const int code =
        MPI_File_read_at_all(file, at, found.data(), refused ? -1 : wanted, MPI_BYTE, &status);
    if (kind == 4) {
      t.expect_same_error(code, std::array{MPI_ERR_COUNT}, "a negative count on one rank");
      continue;
    }
    t.expect_success(code, "read");
    const int got = past_end ? 50 : wanted;
    t.expect(count_of(status, MPI_BYTE) == got, fmt::format("{} bytes in call {}", got, call));
    const Bytes theirs = past_end ? content(t.ranks - 1) : mine;
    const auto from = theirs.begin() + (past_end ? room - 50 : call);
    t.expect(std::equal(from, from + got, found.begin()),
             fmt::format("the bytes of call {}", call));
  }
}

/// Storage fails on one rank (CHOIR_FAULT) in the first read of all, and in some repeated one.
void reads_fail(Checks& t) {
  OpenFile file(t, read_write);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  write_rounds(t, file, warm);
  make_visible(t, file);
  int failures = 0;
  for (int round = 0; round < warm; ++round) {
    Bytes found(block);  // half of it: not the pattern by which it was written
    const int code = MPI_File_read_at_all(file, MPI_Offset{block} * (t.ranks * round + t.rank),
                                          found.data(), block / 2, MPI_BYTE, MPI_STATUS_IGNORE);
    int all[2] = {code == MPI_SUCCESS ? 0 : error_class(code), 0};
    all[1] = -all[0];
    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    t.expect(all[0] == -all[1], fmt::format("the same outcome of round {} on all ranks", round));
    failures += code == MPI_SUCCESS ? 0 : 1;
  }
  t.expect(failures > 0, "some read failed");
}

/// Long enough that the selector is asked now and then, by ranks that name their bytes by different
/// types; in some rounds one of them asks for half, or for nothing.
void many_small_ones(Checks& t) {
  OpenFile file(t, read_write);
  const bool doubles = t.rank % 2 == 1;
  const MPI_Datatype type = doubles ? MPI_DOUBLE : MPI_BYTE;
  const int size = doubles ? 8 : 1;
  constexpr int places = 20;
  const auto bytes_of = [](int round, int rank) {
    return round % 50 == 49 && rank == 0 ? (round < 100 ? block / 2 : 0) : block;
  };
  const auto place_of = [&](int round, int rank) { return t.ranks * (round % places) + rank; };
  Bytes expected(std::size_t{block} * static_cast<std::size_t>(t.ranks * places));
  for (int round = 0; round < 200; ++round) {
    const int bytes = bytes_of(round, t.rank);
    const MPI_Offset at = MPI_Offset{block} * place_of(round, t.rank);
    const Bytes mine = pattern(round, t.rank);
    for (int r = 0; r < t.ranks; ++r) {
      const Bytes theirs = pattern(round, r);
      std::copy_n(theirs.begin(), bytes_of(round, r),
                  expected.begin() + std::ptrdiff_t{block} * place_of(round, r));
    }
    MPI_Status status;
    t.expect_success(MPI_File_write_at_all(file, at, mine.data(), bytes / size, type, &status),
                     "write");
    t.expect(count_of(status, MPI_BYTE) == bytes, "all of it was written");
    Bytes found(block);
    t.expect_success(MPI_File_read_at_all(file, at, found.data(), bytes / size, type, &status),
                     "read");
    t.expect(count_of(status, MPI_BYTE) == bytes &&
                 std::equal(found.begin(), found.begin() + bytes, mine.begin()),
             fmt::format("round {} as it was written", round));
  }
  make_visible(t, file);
  t.expect_file(expected, "the last word at every place");
}

/// The same calls after the view has moved, and in units of its etype.
void moved_view(Checks& t) {
  OpenFile file(t, read_write);
  const MPI_Offset distance = MPI_Offset{block} * t.ranks * warm;
  Bytes expected;
  for (int place = 0; place < 3; ++place) {
    const MPI_Datatype etype = place == 1 ? MPI_DOUBLE : MPI_BYTE;
    const int unit = place == 1 ? 8 : 1;
    t.expect_success(
        MPI_File_set_view(file, place * distance, etype, etype, "native", MPI_INFO_NULL), "view");
    for (int round = 0; round < warm; ++round) {
      const Bytes mine = pattern(10 * place + round, t.rank);
      const MPI_Offset at = MPI_Offset{block} * (t.ranks * round + t.rank) / unit;
      t.expect_success(
          MPI_File_write_at_all(file, at, mine.data(), block, MPI_BYTE, MPI_STATUS_IGNORE),
          "write");
      for (int r = 0; r < t.ranks; ++r) {
        const Bytes theirs = pattern(10 * place + round, r);
        expected.insert(expected.end(), theirs.begin(), theirs.end());
      }
    }
  }
  make_visible(t, file);
  t.expect_file(expected, "three times as many rounds");
}

/// Nonblocking calls and other patterns in between, in the same file.
void mixed_with_others(Checks& t) {
  OpenFile file(t, read_write);
  Bytes expected = write_rounds(t, file, warm);
  const Bytes later = pattern(99, t.rank);
  for (int time = 0; time < warm; ++time) {
    MPI_Request request = MPI_REQUEST_NULL;
    t.expect_success(MPI_File_iwrite_at_all(file, MPI_Offset{block} * (t.ranks * warm + t.rank),
                                            later.data(), block, MPI_BYTE, &request),
                     "iwrite");
    write_at(t, file, MPI_Offset{block} * t.rank, pattern(0, t.rank), block);
    Bytes found(block);
    t.expect_success(MPI_File_read_at_all(file, MPI_Offset{block} * t.rank, found.data(), block,
                                          MPI_BYTE, MPI_STATUS_IGNORE),
                     "read");
    t.expect(found == pattern(0, t.rank), "what was written before");
    t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  }
  for (int r = 0; r < t.ranks; ++r) {
    const Bytes theirs = pattern(99, r);
    expected.insert(expected.end(), theirs.begin(), theirs.end());
  }
  make_visible(t, file);
  t.expect_file(expected, "all of it");
}

/// Reads through a view with holes are repeated; then rank 0 reads as many bytes without holes, and
/// the others ask for something new. What rank 0 then says of its block is what the calls after it
/// go by.
void view_without_holes(Checks& t) {
  constexpr int piece = block / 4;
  const Bytes content = pattern_bytes(std::size_t{16} * block, 5);
  t.create_file(content);
  OpenFile file(t, MPI_MODE_RDWR);
  const auto read_through = [&](MPI_Offset from, int length, int stride, const std::string& what) {
    MPI_Datatype pieces = MPI_DATATYPE_NULL;
    MPI_Type_vector(block / length, length, stride, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    t.expect_success(MPI_File_set_view(file, from, MPI_BYTE, stride == length ? MPI_BYTE : pieces,
                                       "native", MPI_INFO_NULL),
                     "set_view");
    MPI_Type_free(&pieces);
    for (int time = 0; time < warm; ++time) {
      Bytes found(block);
      t.expect_success(
          MPI_File_read_at_all(file, 0, found.data(), block, MPI_BYTE, MPI_STATUS_IGNORE), "read");
      Bytes expected;
      for (int i = 0; i < block; ++i)
        expected.push_back(
            content[static_cast<std::size_t>(from + i / length * stride + i % length)]);
      t.expect(found == expected, what);
    }
  };
  read_through(MPI_Offset{piece} * t.rank, piece, 4 * piece, "with holes");
  read_through(0, 1, t.rank == 0 ? 1 : 2, "without, on rank 0");
}

/// Writes by one strategy, reads by another.
MPI_Info strategies(const char* writing, const char* reading) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "choir_write_strategy", writing);
  MPI_Info_set(info, "choir_read_strategy", reading);
  return info;
}

/// Small pieces of all ranks in turn are written, and read again, once in `period` calls; all
/// others run ahead.
void exchange_now_and_then(Checks& t, MPI_Info info, bool fill_by_reads, int period) {
  constexpr int rounds = 16, piece = 8, filler = 16;
  OpenFile file(t, read_write, MPI_COMM_WORLD, info);
  MPI_Info_free(&info);
  MPI_Datatype pieces = MPI_DATATYPE_NULL;
  MPI_Type_vector(block / piece, piece, piece * t.ranks, MPI_BYTE, &pieces);
  MPI_Type_commit(&pieces);
  t.expect_success(MPI_File_set_view(file, MPI_Offset{piece} * t.rank, MPI_BYTE, pieces, "native",
                                     MPI_INFO_NULL),
                   "set_view");
  MPI_Type_free(&pieces);
  for (int round = 0; round < rounds; ++round) {
    const Bytes mine = pattern(round, t.rank);
    Bytes found(block);
    write_at(t, file, 0, mine, block);
    t.expect_success(
        MPI_File_read_at_all(file, 0, found.data(), block, MPI_BYTE, MPI_STATUS_IGNORE), "read");
    t.expect(found == mine, fmt::format("round {} as it was written", round));
    for (int call = 2; call < period; ++call)
      if (fill_by_reads)
        MPI_File_read_at_all(file, block, found.data(), filler, MPI_BYTE, MPI_STATUS_IGNORE);
      else
        MPI_File_write_at_all(file, block, mine.data(), filler, MPI_BYTE, MPI_STATUS_IGNORE);
  }
}

/// The numbers by which ranks find each other's windows are short and come again, in between
/// everything may have been served without any: what is left of the last ones must not be taken
/// for the next.
void window_numbers_come_again(Checks& t) {
  for (const char* strategy : {"two_phase", "dynamic_segmentation"})
    for (const bool fill_by_reads : {true, false})
      exchange_now_and_then(
          t,
          fill_by_reads ? strategies(strategy, "individual") : strategies("individual", strategy),
          fill_by_reads, 2048);
}

constexpr NamedCheck checks[] = {
    {"further_on", further_on},
    {"through_a_view", through_a_view},
    {"one_rank_asks_otherwise", one_rank_asks_otherwise},
    {"one_rank_is_late", one_rank_is_late},
    {"one_rank_has_an_error", one_rank_has_an_error},
    {"storage_fails", storage_fails},
    {"end_of_file", end_of_file},
    {"cut_by_others", cut_by_others},
    {"unequal_blocks", unequal_blocks},
    {"first_reads", first_reads},
    {"large_blocks", large_blocks},
    {"reads_fail", reads_fail},
    {"many_small_ones", many_small_ones},
    {"moved_view", moved_view},
    {"mixed_with_others", mixed_with_others},
    {"view_without_holes", view_without_holes},
    {"window_numbers_come_again", window_numbers_come_again},
};

int thread_level(const std::string&) { return MPI_THREAD_SINGLE; }

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  return choir::test::run_checks(argc, argv, choir::test::checks, choir::test::thread_level);
}
