// lessons_surroundings.cpp: other users of MPI in the same program: messages, threads,
// communicators.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <thread>

#include "lessons.hpp"

namespace choir::test {
namespace {

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

/// What a program promises of its own messages on a communicator (MPI-4) binds none of choir's.
void communicator_promises(Checks& t) {
  MPI_Info promises;
  MPI_Info_create(&promises);
  for (const char* promise : {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                              "mpi_assert_exact_length", "mpi_assert_allow_overtaking"})
    MPI_Info_set(promises, promise, "true");
  MPI_Comm comm;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, promises, &comm);
  {
    OpenFile fh(t, read_write, comm);
    set_interleaved_view(t, fh, 64);
    for (int i = 0; i < 5; ++i) {
      Bytes mine = pattern(64000, 10 * i + t.rank);
      MPI_Request request;
      MPI_Status status;
      t.expect_success(
          MPI_File_iwrite_at_all(fh, 64000 * i, mine.data(), 64000, MPI_BYTE, &request), "iwrite");
      t.expect_success(MPI_Wait(&request, &status), "wait");
      Bytes found(64000);
      t.expect_success(MPI_File_read_at_all(fh, 64000 * i, found.data(), 64000, MPI_BYTE, &status),
                       "read");
      t.expect(found == mine, "data on a communicator with promises");
    }
  }
  MPI_Comm_free(&comm);
  MPI_Info_free(&promises);
}

constexpr NamedCheck checks[] = {
    {"communicator_promises", communicator_promises},
    {"wildcard_receives", wildcard_receives},
    {"thread_multiple", thread_multiple},
    {"comm_self", comm_self},
    {"sub_communicators", sub_communicators},
};

}  // namespace

std::span<const NamedCheck> lessons_of_surroundings() { return checks; }

}  // namespace choir::test
