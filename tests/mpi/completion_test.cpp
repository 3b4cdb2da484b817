// completion_test.cpp: requests of file operations in arrays with every other kind, what completion
// tells of failures, and what a program may free or leave behind.
//
// A plain MPI program: completion_test NAME|all|--list [--dir DIR].
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "support/checks.hpp"

namespace choir::test {
namespace {

constexpr int block = 3000;

Bytes pattern(int owner) { return pattern_bytes(block, 900 + static_cast<std::uint64_t>(owner)); }

MPI_Offset place(const Checks& t, int i) { return (std::int64_t{i} * t.ranks + t.rank) * block; }

Bytes whole_file(const Checks& t, int operations) {
  Bytes all;
  for (int i = 0; i < operations; ++i)
    for (int r = 0; r < t.ranks; ++r) {
      const Bytes one = pattern(100 * i + r);
      all.insert(all.end(), one.begin(), one.end());
    }
  return all;
}

/// Four file writes, a persistent send and receive, a generalized request of the program's own, a
/// receive, and a null request: one of every kind a program may have in one array.
class Everything {
 public:
  static constexpr int writes = 4;
  static constexpr int count = writes + 5;

  Everything(Checks& t, MPI_File fh) : t_(t) {
    requests.fill(MPI_REQUEST_NULL);
    const int to = (t.rank + 1) % t.ranks, from = (t.rank + t.ranks - 1) % t.ranks;
    MPI_Send_init(&sent_, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[writes]);
    MPI_Recv_init(&arrived_[0], 1, MPI_INT, from, 1, MPI_COMM_WORLD, &requests[writes + 1]);
    MPI_Irecv(&arrived_[1], 1, MPI_INT, from, 2, MPI_COMM_WORLD, &requests[writes + 2]);
    MPI_Grequest_start(query, release, cancel, this, &requests[writes + 3]);
    for (int i = 0; i < writes; ++i) {
      const auto at = static_cast<std::size_t>(i);
      buffers_[at] = pattern(100 * i + t.rank);
      t.expect_success(MPI_File_iwrite_at_all(fh, place(t, i), buffers_[at].data(), block, MPI_BYTE,
                                              &requests[at]),
                       "iwrite");
    }
    MPI_Startall(2, &requests[writes]);
    MPI_Send(&sent_, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
    MPI_Grequest_complete(requests[writes + 3]);
  }
  Everything(const Everything&) = delete;

  ~Everything() {
    for (int i = 0; i < count; ++i) {
      const bool persistent = i == writes || i == writes + 1;
      t_.expect((requests[static_cast<std::size_t>(i)] != MPI_REQUEST_NULL) == persistent,
                fmt::format("request {}: only persistent ones survive completion", i));
    }
    MPI_Request_free(&requests[writes]);
    MPI_Request_free(&requests[writes + 1]);
    const int from = (t_.rank + t_.ranks - 1) % t_.ranks;
    t_.expect(arrived_[0] == 10 * from && arrived_[1] == 10 * from, "the program's own messages");
    t_.expect(freed_ == 1, "the program's generalized request was freed once");
  }

  void completed(int index, const MPI_Status& status) {
    t_.expect(index >= 0 && index < count - 1, fmt::format("request {} completed", index));
    ++done;
    if (index >= 0 && index < writes)
      t_.expect(count_of(status, MPI_BYTE) == block, fmt::format("count of write {}", index));
    if (index == writes + 1 || index == writes + 2)
      t_.expect(count_of(status, MPI_INT) == 1, "count of a message");
  }

  std::array<MPI_Request, count> requests;
  int done = 0;

 private:
  static int query(void*, MPI_Status* status) {
    MPI_Status_set_elements(status, MPI_BYTE, 1);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  static int release(void* self) {
    ++static_cast<Everything*>(self)->freed_;
    return MPI_SUCCESS;
  }
  static int cancel(void*, int) { return MPI_SUCCESS; }

  Checks& t_;
  std::array<Bytes, writes> buffers_;
  int sent_ = 10 * t_.rank;
  std::array<int, 2> arrived_{-1, -1};
  int freed_ = 0;
};

/// Completes everything by `complete`, which reports what it completed.
template <class Complete>
void every_kind(Checks& t, Complete&& complete) {
  OpenFile fh(t, read_write);
  {
    Everything all(t, fh);
    complete(all);
    t.expect(all.done == Everything::count - 1, fmt::format("{} completed", all.done));
  }
  make_visible(t, fh);
  t.expect_file(whole_file(t, Everything::writes), "four writes");
}

void every_kind_waitall(Checks& t) {
  every_kind(t, [&](Everything& all) {
    std::array<MPI_Status, Everything::count> statuses;
    t.expect_success(MPI_Waitall(Everything::count, all.requests.data(), statuses.data()),
                     "MPI_Waitall");
    for (int i = 0; i + 1 < Everything::count; ++i)
      all.completed(i, statuses[static_cast<std::size_t>(i)]);
  });
}

void every_kind_testall(Checks& t) {
  every_kind(t, [&](Everything& all) {
    std::array<MPI_Status, Everything::count> statuses;
    for (int flag = 0; flag == 0;)
      t.expect_success(MPI_Testall(Everything::count, all.requests.data(), &flag, statuses.data()),
                       "MPI_Testall");
    for (int i = 0; i + 1 < Everything::count; ++i)
      all.completed(i, statuses[static_cast<std::size_t>(i)]);
  });
}

void every_kind_waitsome(Checks& t) {
  every_kind(t, [&](Everything& all) {
    std::array<MPI_Status, Everything::count> statuses;
    std::array<int, Everything::count> indices;
    while (true) {
      int some = 0;
      t.expect_success(MPI_Waitsome(Everything::count, all.requests.data(), &some, indices.data(),
                                    statuses.data()),
                       "MPI_Waitsome");
      if (some == MPI_UNDEFINED) return;
      t.expect(some > 0, "MPI_Waitsome completes something");
      for (std::size_t i = 0; i < static_cast<std::size_t>(some); ++i)
        all.completed(indices[i], statuses[i]);
    }
  });
}

void every_kind_testsome(Checks& t) {
  every_kind(t, [&](Everything& all) {
    std::array<MPI_Status, Everything::count> statuses;
    std::array<int, Everything::count> indices;
    for (int some = 0; some != MPI_UNDEFINED;) {
      t.expect_success(MPI_Testsome(Everything::count, all.requests.data(), &some, indices.data(),
                                    statuses.data()),
                       "MPI_Testsome");
      for (int i = 0; i < some; ++i)
        all.completed(indices[static_cast<std::size_t>(i)], statuses[static_cast<std::size_t>(i)]);
    }
  });
}

void every_kind_testany(Checks& t) {
  every_kind(t, [&](Everything& all) {
    MPI_Status status;
    for (int index = 0; index != MPI_UNDEFINED;) {
      int flag = 0;
      t.expect_success(MPI_Testany(Everything::count, all.requests.data(), &index, &flag, &status),
                       "MPI_Testany");
      if (flag != 0 && index != MPI_UNDEFINED) all.completed(index, status);
      if (flag == 0) index = 0;
    }
  });
}

/// Types, and the view's types, are freed as soon as the call has returned.
void types_freed_at_once(Checks& t) {
  OpenFile fh(t, read_write);
  constexpr int pieces = 60, piece = block / pieces;
  MPI_Datatype etype, filetype, memory;
  MPI_Type_contiguous(piece, MPI_BYTE, &etype);
  MPI_Type_commit(&etype);
  MPI_Type_vector(pieces, 1, t.ranks, etype, &filetype);
  MPI_Type_commit(&filetype);
  t.expect_success(
      MPI_File_set_view(fh, MPI_Offset{piece} * t.rank, etype, filetype, "native", MPI_INFO_NULL),
      "set_view");
  MPI_Type_free(&filetype);
  MPI_Type_free(&etype);
  const Bytes packed = pattern(t.rank);
  Bytes spread(2 * block);
  for (std::size_t i = 0; i < block; ++i) spread[2 * i] = packed[i];
  MPI_Type_vector(block, 1, 2, MPI_BYTE, &memory);
  MPI_Type_commit(&memory);
  MPI_Request request = MPI_REQUEST_NULL;
  t.expect_success(MPI_File_iwrite_all(fh, spread.data(), 1, memory, &request), "iwrite_all");
  MPI_Type_free(&memory);
  MPI_Status status;
  t.expect_success(MPI_Wait(&request, &status), "MPI_Wait");
  t.expect(count_of(status, MPI_BYTE) == block, "count");
  make_visible(t, fh);
  Bytes expected;
  for (int i = 0; i < pieces; ++i)
    for (int r = 0; r < t.ranks; ++r) {
      const Bytes whole = pattern(r);
      expected.insert(expected.end(), whole.begin() + i * piece, whole.begin() + (i + 1) * piece);
    }
  t.expect_file(expected, "interleaved pieces");
}

/// A failed write beside messages: MPI_ERR_IN_STATUS on every rank, and the statuses say which.
/// Runs with an injected fault that makes every write fail.
void failure_in_array(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int to = (t.rank + 1) % t.ranks, from = (t.rank + t.ranks - 1) % t.ranks;
  for (const bool some : {false, true}) {
    const Bytes buffer = pattern(t.rank);
    int arrived = -1, sent = t.rank;
    std::array<MPI_Request, 3> requests;
    std::array<MPI_Status, 3> statuses{};
    MPI_Irecv(&arrived, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &requests[0]);
    t.expect_success(
        MPI_File_iwrite_at_all(fh, place(t, 0), buffer.data(), block, MPI_BYTE, &requests[1]),
        "iwrite");
    MPI_Isend(&sent, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &requests[2]);
    std::array<int, 3> errors{-1, -1, -1};
    if (!some) {
      t.expect(error_class(MPI_Waitall(3, requests.data(), statuses.data())) == MPI_ERR_IN_STATUS,
               "MPI_Waitall says MPI_ERR_IN_STATUS");
      for (std::size_t i = 0; i < 3; ++i) errors[i] = error_class(statuses[i].MPI_ERROR);
    }
    for (int left = some ? 3 : 0; left > 0;) {
      int done = 0;
      std::array<int, 3> indices;
      const int code = MPI_Waitsome(3, requests.data(), &done, indices.data(), statuses.data());
      for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i)
        errors[static_cast<std::size_t>(indices[i])] =
            code == MPI_SUCCESS ? MPI_SUCCESS : error_class(statuses[i].MPI_ERROR);
      left -= done;
    }
    t.expect(errors[0] == MPI_SUCCESS && errors[2] == MPI_SUCCESS, "the messages did not fail");
    t.expect(arrived == from, "the message arrived");
    constexpr std::array accepted{MPI_ERR_NO_SPACE};
    t.expect_same_error(errors[1], accepted, "the write in the array");
  }
}

/// The error belongs to the request: freed with it, or told once.
void failure_is_told_once(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Bytes buffer = pattern(t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < 3; ++i) {
    t.expect_success(
        MPI_File_iwrite_at_all(fh, place(t, i), buffer.data(), block, MPI_BYTE, &request),
        "iwrite");
    int done = 0;
    while (done == 0)
      t.expect_success(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE), "get_status");
    if (i == 1) {
      t.expect_success(MPI_Request_free(&request), "MPI_Request_free");
    } else {
      constexpr std::array accepted{MPI_ERR_NO_SPACE};
      t.expect_same_error(MPI_Wait(&request, MPI_STATUS_IGNORE), accepted, "MPI_Wait");
    }
    t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait for the null request");
  }
  int in = -1;
  MPI_Irecv(&in, 1, MPI_INT, t.rank, 5, MPI_COMM_WORLD, &request);
  MPI_Send(&t.rank, 1, MPI_INT, t.rank, 5, MPI_COMM_WORLD);
  t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "a later request has no stale error");
}

/// Requests that outlive their file are still complete, and say how it went.
void request_outlives_file(Checks& t) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_File fh = MPI_FILE_NULL;
  t.expect_success(MPI_File_open(MPI_COMM_WORLD, t.path.c_str(), read_write, MPI_INFO_NULL, &fh),
                   "open");
  MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN);
  std::array<Bytes, 2> buffers;
  std::array<MPI_Request, 2> requests;
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    buffers[at] = pattern(100 * i + t.rank);
    t.expect_success(
        MPI_File_iwrite_at_all(fh, place(t, i), buffers[at].data(), block, MPI_BYTE, &requests[at]),
        "iwrite");
  }
  constexpr std::array accepted{MPI_ERR_REQUEST};
  t.expect_same_error(MPI_File_close(&fh), accepted, "closing with requests outstanding");
  t.expect(fh == MPI_FILE_NULL, "the handle is gone all the same");
  std::array<MPI_Status, 2> statuses;
  t.expect_success(MPI_Waitall(2, requests.data(), statuses.data()), "MPI_Waitall after close");
  for (const auto& status : statuses) t.expect(count_of(status, MPI_BYTE) == block, "count");
  t.expect_file(whole_file(t, 2), "two writes");
}

#ifdef CHOIR_HAS_LARGE_COUNT
/// The large-count forms, nonblocking and split.
void large_count_forms(Checks& t) {
  OpenFile fh(t, read_write);
  const Bytes buffer = pattern(t.rank);
  const MPI_Count count = block;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  t.expect_success(
      MPI_File_iwrite_at_all_c(fh, place(t, 0), buffer.data(), count, MPI_BYTE, &request),
      "iwrite_at_all_c");
  t.expect_success(MPI_Wait(&request, &status), "MPI_Wait");
  t.expect(count_of(status, MPI_BYTE) == block, "count");
  t.expect_success(MPI_File_seek(fh, place(t, 1), MPI_SEEK_SET), "seek");
  const Bytes second = pattern(100 + t.rank);
  t.expect_success(MPI_File_iwrite_all_c(fh, second.data(), count, MPI_BYTE, &request),
                   "iwrite_all_c");
  t.expect_success(MPI_Wait(&request, &status), "MPI_Wait");
  const Bytes third = pattern(200 + t.rank);
  t.expect_success(MPI_File_write_at_all_begin_c(fh, place(t, 2), third.data(), count, MPI_BYTE),
                   "write_at_all_begin_c");
  t.expect_success(MPI_File_write_at_all_end(fh, third.data(), &status), "write_at_all_end");
  make_visible(t, fh);
  t.expect_file(whole_file(t, 3), "three writes");
  Bytes found(block);
  t.expect_success(
      MPI_File_iread_at_all_c(fh, place(t, 1), found.data(), count, MPI_BYTE, &request),
      "iread_at_all_c");
  t.expect_success(MPI_Wait(&request, &status), "MPI_Wait");
  t.expect(found == second, "iread_at_all_c");
  t.expect_success(MPI_File_seek(fh, place(t, 0), MPI_SEEK_SET), "seek");
  t.expect_success(MPI_File_iread_all_c(fh, found.data(), count, MPI_BYTE, &request),
                   "iread_all_c");
  t.expect_success(MPI_Wait(&request, &status), "MPI_Wait");
  t.expect(found == buffer && count_of(status, MPI_BYTE) == block, "iread_all_c");
}
#endif

/// A second file, which closing deletes.
MPI_File open_other(Checks& t, MPI_Info info = MPI_INFO_NULL) {
  const std::string other = t.path + ".other";
  MPI_File handle = MPI_FILE_NULL;
  t.expect_success(MPI_File_open(MPI_COMM_WORLD, other.c_str(),
                                 read_write | MPI_MODE_DELETE_ON_CLOSE, info, &handle),
                   "open");
  return handle;
}

/// Rank 0 asks for the same in two files, the others do not: a plan kept for one file must never
/// serve the other, whichever call becomes known first.
void plans_are_not_mixed_up(Checks& t) {
  OpenFile first(t, read_write);
  MPI_File second = open_other(t);
  constexpr int large = 1 << 16;  // several pages: plans of the two calls cut them differently
  const auto bytes_of = [](int r) { return pattern_bytes(large, static_cast<std::uint64_t>(r)); };
  const Bytes buffer = bytes_of(t.rank);
  const auto start = [&](MPI_File fh, bool shorter, MPI_Request* request) {
    const int count = shorter && t.rank != 0 ? 8 : large;
    t.expect_success(MPI_File_iwrite_at_all(fh, MPI_Offset{large} * t.rank, buffer.data(), count,
                                            MPI_BYTE, request),
                     "iwrite");
  };
  MPI_Request one = MPI_REQUEST_NULL, two = MPI_REQUEST_NULL;
  start(first, false, &one);  // the pattern that will be known
  t.expect_success(MPI_Wait(&one, MPI_STATUS_IGNORE), "MPI_Wait");
  // Rank 0 begins in the first file; the others begin there only after the second file's call,
  // which rank 0 finds to be new meanwhile.
  int token = 0;
  if (t.rank == 0) start(first, false, &one);
  start(second, true, &two);
  t.expect_success(MPI_Wait(&two, MPI_STATUS_IGNORE), "MPI_Wait");
  MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (t.rank != 0) start(first, false, &one);
  t.expect_success(MPI_Wait(&one, MPI_STATUS_IGNORE), "MPI_Wait");
  make_visible(t, first);
  Bytes expected;
  for (int r = 0; r < t.ranks; ++r) {
    const Bytes theirs = bytes_of(r);
    expected.insert(expected.end(), theirs.begin(), theirs.end());
  }
  t.expect_file(expected, "the first file");
  t.expect_success(MPI_File_close(&second), "close");
}

MPI_Info hint(const char* key, const char* value) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  return info;
}

/// Pieces of all ranks in turn, the first at `from`, `stride` from one to the next.
void view_pieces(Checks& t, MPI_File fh, MPI_Offset from, int piece, int stride) {
  MPI_Datatype pieces = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(piece, MPI_BYTE, &pieces);
  MPI_Datatype spread = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(pieces, 0, stride, &spread);
  MPI_Type_commit(&spread);
  t.expect_success(MPI_File_set_view(fh, from, MPI_BYTE, spread, "native", MPI_INFO_NULL),
                   "set_view");
  MPI_Type_free(&pieces);
  MPI_Type_free(&spread);
}

/// A file that is given more aggregators while it is open has no more buffers than before, though
/// one with as many settings and buffers for them has left plans.
void plans_know_their_buffers(Checks& t) {
  constexpr int piece = 4096, pieces = 64;
  MPI_Info few = hint("choir_aggregators_per_node", "1");
  MPI_Info many = hint("choir_aggregators_per_node", "4");
  OpenFile first(t, read_write, MPI_COMM_WORLD, few);
  MPI_File second = open_other(t, many);
  const Bytes mine = pattern_bytes(piece * pieces, static_cast<std::uint64_t>(t.rank));
  for (const MPI_File fh : {second, static_cast<MPI_File>(first)}) {
    view_pieces(t, fh, MPI_Offset{piece} * t.rank, piece, piece * t.ranks);
    if (fh != second) t.expect_success(MPI_File_set_info(fh, many), "set_info");
    t.expect_success(
        MPI_File_write_at_all(fh, 0, mine.data(), size_of(mine), MPI_BYTE, MPI_STATUS_IGNORE),
        "write");
  }
  make_visible(t, first);
  Bytes expected(mine.size() * static_cast<std::size_t>(t.ranks));
  for (int r = 0; r < t.ranks; ++r) {
    const Bytes theirs = pattern_bytes(piece * pieces, static_cast<std::uint64_t>(r));
    for (int i = 0; i < pieces; ++i)
      std::copy_n(theirs.begin() + i * piece, piece, expected.begin() + (i * t.ranks + r) * piece);
  }
  t.expect_file(expected, "the file with few buffers");
  t.expect_success(MPI_File_close(&second), "close");
  MPI_Info_free(&few);
  MPI_Info_free(&many);
}

/// One file through two handles at the same time, each writing into the holes of the other: whoever
/// waits for a lock must let the one go on who has it.
void holes_of_another_handle(Checks& t) {
  constexpr int piece = 64, pieces = 4096;
  OpenFile first(t, read_write);
  OpenFile second(t, read_write);
  std::array<Bytes, 2> buffers;
  for (int h = 0; h < 2; ++h) {
    view_pieces(t, h == 0 ? first : second, MPI_Offset{piece} * (2 * t.rank + h), piece,
                2 * piece * t.ranks);
    buffers[static_cast<std::size_t>(h)] =
        Bytes(piece * pieces, static_cast<char>(1 + 2 * t.rank + h));
  }
  for (int round = 0; round < 40; ++round) {
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (std::size_t h = 0; h < 2; ++h)
      t.expect_success(MPI_File_iwrite_at_all(h == 0 ? first : second, 0, buffers[h].data(),
                                              piece * pieces, MPI_BYTE, &requests[h]),
                       "iwrite");
    t.expect_success(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), "MPI_Wait for the second");
    t.expect_success(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), "MPI_Wait for the first");
  }
  make_visible(t, first);
  Bytes expected;
  for (int i = 0; i < pieces; ++i)
    for (int owner = 0; owner < 2 * t.ranks; ++owner)
      expected.insert(expected.end(), piece, static_cast<char>(1 + owner));
  t.expect_file(expected, "both handles' bytes");
}

/// A word that ranks of one node tell each other without MPI, which would advance their calls.
class Signal {
 public:
  Signal() {
    const MPI_Aint size = rank() == 0 ? sizeof(int) : 0;
    MPI_Win_allocate_shared(size, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &word_, &window_);
    MPI_Aint found = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &found, &unit, &word_);
    if (rank() == 0) *word_ = 0;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Signal(const Signal&) = delete;
  ~Signal() { MPI_Win_free(&window_); }

  void raise(int value) { std::atomic_ref(*word_).store(value); }
  void await(int value) const {
    while (std::atomic_ref(*word_).load() < value) usleep(100);
  }

 private:
  static int rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }

  int* word_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

/// Two ranks learn of one pattern in two files, at different places and in different orders. Each
/// then guesses that a third call is like the one it heard of last, as far off as the other's: that
/// they agree on the pattern and the distance does not make it true.
void plans_know_their_place(Checks& t) {
  constexpr int slot = 2 * block;
  OpenFile first(t, read_write);
  MPI_File second = open_other(t);
  std::array<Bytes, 2> found{Bytes(block), Bytes(block)};
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const auto start = [&](int which) {
    const auto i = static_cast<std::size_t>(which);
    const MPI_Offset at = (which == 0 ? slot : 0) + MPI_Offset{block} * (1 - t.rank);
    t.expect_success(MPI_File_iread_at_all(which == 0 ? static_cast<MPI_File>(first) : second, at,
                                           found[i].data(), block, MPI_BYTE, &requests[i]),
                     "iread");
  };
  Signal signal;
  if (t.rank == 1) {
    start(0);
    signal.raise(1);
    signal.await(2);
    start(1);  // is complete at once, before anybody looks at the first again
  } else {
    signal.await(1);
    start(0);
    start(1);
    signal.raise(2);
  }
  t.expect_success(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  Bytes expected(4 * slot);
  for (int r = 0; r < t.ranks; ++r) {
    const Bytes theirs = pattern(r);
    std::copy(theirs.begin(), theirs.end(), expected.begin() + 3 * slot + r * block);
  }
  const Bytes mine = pattern(t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  t.expect_success(MPI_File_iwrite_at_all(first, 3 * slot + MPI_Offset{block} * t.rank, mine.data(),
                                          block, MPI_BYTE, &request),
                   "iwrite");
  t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  make_visible(t, first);
  t.expect_file(expected, "the write");
  t.expect_success(MPI_File_close(&second), "close");
}

constexpr NamedCheck checks[] = {
    {"every_kind_waitall", every_kind_waitall},
    {"every_kind_testall", every_kind_testall},
    {"every_kind_waitsome", every_kind_waitsome},
    {"every_kind_testsome", every_kind_testsome},
    {"every_kind_testany", every_kind_testany},
    {"types_freed_at_once", types_freed_at_once},
    {"failure_in_array", failure_in_array},
    {"failure_is_told_once", failure_is_told_once},
    {"request_outlives_file", request_outlives_file},
#ifdef CHOIR_HAS_LARGE_COUNT
    {"large_count_forms", large_count_forms},
#endif
    {"plans_are_not_mixed_up", plans_are_not_mixed_up},
    {"plans_know_their_place", plans_know_their_place},
    {"plans_know_their_buffers", plans_know_their_buffers},
    {"holes_of_another_handle", holes_of_another_handle},
};

int thread_level(const std::string&) { return MPI_THREAD_SINGLE; }

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  return choir::test::run_checks(argc, argv, choir::test::checks, choir::test::thread_level);
}
