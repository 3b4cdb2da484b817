// requests_test.cpp: the requests of nonblocking collective I/O behave like any other request.
//
// A plain MPI program: requests_test NAME|all|--list [--dir DIR].
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "support/checks.hpp"

namespace choir::test {
namespace {

constexpr int block = 5000;

Bytes pattern(int bytes, int owner) {
  return pattern_bytes(static_cast<std::size_t>(bytes), 500 + static_cast<std::uint64_t>(owner));
}

/// Rank r's block of the i-th operation.
MPI_Offset place(const Checks& t, int i) { return (std::int64_t{i} * t.ranks + t.rank) * block; }

Bytes whole_file(const Checks& t, int operations) {
  Bytes all;
  for (int i = 0; i < operations; ++i)
    for (int r = 0; r < t.ranks; ++r) {
      const Bytes one = pattern(block, 100 * i + r);
      all.insert(all.end(), one.begin(), one.end());
    }
  return all;
}

/// Starts the i-th write of this rank; the buffer must outlive the request.
MPI_Request start_write(Checks& t, MPI_File fh, Bytes& buffer, int i) {
  buffer = pattern(block, 100 * i + t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  t.expect_success(
      MPI_File_iwrite_at_all(fh, place(t, i), buffer.data(), block, MPI_BYTE, &request), "iwrite");
  return request;
}

void wait_gives_count(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes buffer;
  MPI_Request request = start_write(t, fh, buffer, 0);
  MPI_Status status;
  t.expect_success(MPI_Wait(&request, &status), "MPI_Wait");
  t.expect(request == MPI_REQUEST_NULL, "the request is null after MPI_Wait");
  t.expect(count_of(status, MPI_BYTE) == block, "count written");
  int cancelled = 1;
  MPI_Test_cancelled(&status, &cancelled);
  t.expect(!cancelled, "a completed operation is not cancelled");
  make_visible(t, fh);
  Bytes found(block);
  t.expect_success(MPI_File_iread_at_all(fh, place(t, 0), found.data(), block, MPI_BYTE, &request),
                   "iread");
  t.expect_success(MPI_Wait(&request, &status), "MPI_Wait");
  t.expect(count_of(status, MPI_BYTE) == block && found == buffer, "read back");
  t.expect_file(whole_file(t, 1), "one write");
}

void test_until_done(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes buffer;
  MPI_Request request = start_write(t, fh, buffer, 0);
  int done = 0;
  MPI_Status status;
  while (!done) t.expect_success(MPI_Test(&request, &done, &status), "MPI_Test");
  t.expect(request == MPI_REQUEST_NULL, "null after MPI_Test");
  t.expect(count_of(status, MPI_BYTE) == block, "count");
  make_visible(t, fh);
  t.expect_file(whole_file(t, 1), "one write");
}

void get_status_keeps_request(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes buffer;
  MPI_Request request = start_write(t, fh, buffer, 0);
  int done = 0;
  MPI_Status status;
  while (!done)
    t.expect_success(MPI_Request_get_status(request, &done, &status), "MPI_Request_get_status");
  t.expect(request != MPI_REQUEST_NULL, "MPI_Request_get_status leaves the request");
  t.expect(count_of(status, MPI_BYTE) == block, "count seen by MPI_Request_get_status");
  t.expect_success(MPI_Wait(&request, &status), "MPI_Wait");
  t.expect(count_of(status, MPI_BYTE) == block, "count seen by MPI_Wait");
  make_visible(t, fh);
  t.expect_file(whole_file(t, 1), "one write");
}

/// Collective: true as soon as the file holds `expected`, false if it does not within the time
/// limit.
bool appears(Checks& t, const Bytes& expected) {
  for (int tries = 0; tries < 400; ++tries) {
    int there = 0;
    if (t.rank == 0) {
      std::ifstream in(t.path, std::ios::binary);
      there = Bytes{std::istreambuf_iterator<char>(in), {}} == expected;
    }
    MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (there) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return false;
}

/// A freed request still does its work. Nothing in MPI tells when, so the file itself is watched.
void request_free(Checks& t) {
  Bytes buffer;  // outlives the file: closing waits for the call
  OpenFile fh(t, read_write);
  MPI_Request request = start_write(t, fh, buffer, 0);
  t.expect_success(MPI_Request_free(&request), "MPI_Request_free");
  t.expect(request == MPI_REQUEST_NULL, "null after MPI_Request_free");
  t.expect(appears(t, whole_file(t, 1)), "a freed write is carried out");
}

/// File operations need not be cancellable, but the call must be harmless.
void cancel_is_harmless(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Bytes buffer;
  MPI_Request request = start_write(t, fh, buffer, 0);
  MPI_Cancel(&request);
  MPI_Status status;
  t.expect_success(MPI_Wait(&request, &status), "MPI_Wait after MPI_Cancel");
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  make_visible(t, fh);
  if (!cancelled) t.expect_file(whole_file(t, 1), "not cancelled, so written");
  int any = cancelled;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  t.expect(any == cancelled, "cancelled everywhere or nowhere");
}

/// Arrays that hold file requests, messages and null requests at once.
void mixed_arrays(Checks& t) {
  OpenFile fh(t, read_write);
  constexpr int operations = 3;
  std::array<Bytes, operations> buffers;
  std::array<MPI_Request, 2 * operations + 2> requests;
  requests.fill(MPI_REQUEST_NULL);
  std::array<int, operations> arrived{};
  int sent = 10 * t.rank;
  const int to = (t.rank + 1) % t.ranks;
  const int from = (t.rank + t.ranks - 1) % t.ranks;
  for (std::size_t i = 0; i < operations; ++i) {
    const int tag = static_cast<int>(i);
    requests[2 * i] = start_write(t, fh, buffers[i], tag);
    MPI_Irecv(&arrived[i], 1, MPI_INT, from, tag, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  for (int i = 0; i < operations; ++i) MPI_Send(&sent, 1, MPI_INT, to, i, MPI_COMM_WORLD);
  int completed = 0;
  for (;; ++completed) {
    int index = -7;
    MPI_Status status;
    t.expect_success(
        MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, &status),
        "MPI_Waitany");
    if (index == MPI_UNDEFINED) break;
    t.expect(index < 2 * operations, "null requests never complete");
    const int bytes = index % 2 ? static_cast<int>(sizeof(int)) : block;
    t.expect(count_of(status, MPI_BYTE) == bytes || count_of(status, MPI_INT) == 1, "count");
  }
  t.expect(completed == 2 * operations, fmt::format("{} requests completed", completed));
  for (const int value : arrived) t.expect(value == 10 * from, "the program's own message");
  make_visible(t, fh);
  t.expect_file(whole_file(t, operations), "three writes");
}

void waitall_and_testall(Checks& t) {
  OpenFile fh(t, read_write);
  std::array<Bytes, 8> buffers;
  std::array<MPI_Request, 8> requests;
  for (std::size_t i = 0; i < 8; ++i)
    requests[i] = start_write(t, fh, buffers[i], static_cast<int>(i));
  std::array<MPI_Status, 8> statuses;
  t.expect_success(MPI_Waitall(4, requests.data(), statuses.data()), "MPI_Waitall");
  int done = 0;
  while (!done)
    t.expect_success(MPI_Testall(4, requests.data() + 4, &done, statuses.data() + 4),
                     "MPI_Testall");
  for (std::size_t i = 0; i < 8; ++i) {
    t.expect(requests[i] == MPI_REQUEST_NULL, "null after completion");
    t.expect(count_of(statuses[i], MPI_BYTE) == block, fmt::format("count of write {}", i));
  }
  make_visible(t, fh);
  t.expect_file(whole_file(t, 8), "eight outstanding writes");
}

/// Ranks wait for their operations in opposite orders: progress must not depend on what is waited
/// for.
void opposite_orders(Checks& t) {
  OpenFile fh(t, read_write);
  std::array<Bytes, 6> buffers;
  std::array<MPI_Request, 6> requests;
  for (std::size_t i = 0; i < 6; ++i)
    requests[i] = start_write(t, fh, buffers[i], static_cast<int>(i));
  for (std::size_t i = 0; i < 6; ++i)
    t.expect_success(MPI_Wait(&requests[t.rank % 2 ? i : 5 - i], MPI_STATUS_IGNORE), "MPI_Wait");
  make_visible(t, fh);
  t.expect_file(whole_file(t, 6), "six writes");
}

/// One rank only receives a message that another sends after its own operation completed.
void progress_inside_receive(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes buffer;
  MPI_Request request = start_write(t, fh, buffer, 0);
  int token = 41;
  if (t.rank == 0) {
    t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    for (int r = 1; r < t.ranks; ++r) MPI_Send(&token, 1, MPI_INT, r, 9, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  }
  make_visible(t, fh);
  t.expect_file(whole_file(t, 1), "one write");
}

/// The call returns although the other ranks have not called yet.
void start_does_not_wait(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes buffer;
  MPI_Request request = MPI_REQUEST_NULL;
  int token = 0;
  const int last = t.ranks - 1;
  // The last rank starts only after every other rank has returned from starting.
  if (t.rank == last)
    for (int r = 0; r < last; ++r)
      MPI_Recv(&token, 1, MPI_INT, r, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  request = start_write(t, fh, buffer, 0);
  if (t.rank != last) MPI_Send(&token, 1, MPI_INT, last, 3, MPI_COMM_WORLD);
  t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  make_visible(t, fh);
  t.expect_file(whole_file(t, 1), "one write");
}

/// The error of a nonblocking operation reaches every rank, at the latest when it completes.
void error_at_completion(Checks& t) {
  t.create_file(pattern(100, 1));
  OpenFile fh(t, MPI_MODE_RDONLY);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Bytes buffer = pattern(10, t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_File_iwrite_at_all(fh, 10 * t.rank, buffer.data(), 10, MPI_BYTE, &request);
  if (code == MPI_SUCCESS) {
    MPI_Status status;
    code = MPI_Wait(&request, &status);
  }
  constexpr std::array accepted{MPI_ERR_READ_ONLY, MPI_ERR_ACCESS, MPI_ERR_AMODE, MPI_ERR_IO};
  t.expect_same_error(code, accepted, "nonblocking write to a read-only file");
  Bytes found(10);
  t.expect_success(MPI_File_read_at_all(fh, 0, found.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE),
                   "the next call");
}

/// As natively: the call itself fails and leaves a null request; nothing is left to wait for.
void expect_refused(Checks& t, MPI_File fh, int count, MPI_Datatype type, const char* what) {
  Bytes buffer = pattern(block, t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  std::memset(&request, 0x5a, sizeof request);
  constexpr std::array accepted{MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_ARG};
  t.expect_same_error(MPI_File_iwrite_at_all(fh, 0, buffer.data(), count, type, &request), accepted,
                      fmt::format("iwrite_at_all, {}", what));
  t.expect(request == MPI_REQUEST_NULL, fmt::format("the request of a refused call, {}", what));
  t.expect_same_error(MPI_File_write_at_all_begin(fh, 0, buffer.data(), count, type), accepted,
                      fmt::format("write_at_all_begin, {}", what));
}

void wrong_arguments_at_the_call(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 3, 5, MPI_BYTE, &uncommitted);
  expect_refused(t, fh, -1, MPI_BYTE, "count -1");
  expect_refused(t, fh, 1, MPI_DATATYPE_NULL, "no type");
  expect_refused(t, fh, 1, uncommitted, "a type that is not committed");
  MPI_Type_free(&uncommitted);
  Bytes buffer;
  MPI_Request request = start_write(t, fh, buffer, 0);
  t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "the next call");
}

/// The others learn it when they wait: nobody hangs.
void wrong_arguments_on_one_rank(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Bytes buffer = pattern(block, t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  const bool wrong = t.rank == 0;
  int code = MPI_File_iwrite_at_all(fh, place(t, 0), buffer.data(), wrong ? -1 : block, MPI_BYTE,
                                    &request);
  t.expect(wrong == (code != MPI_SUCCESS), "who fails at the call");
  t.expect(wrong == (request == MPI_REQUEST_NULL), "whose request is null");
  if (!wrong) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  constexpr std::array accepted{MPI_ERR_COUNT, MPI_ERR_ARG};
  t.expect_same_error(code, accepted, "count -1 on rank 0");
  code = MPI_File_write_at_all_begin(fh, place(t, 0), buffer.data(), wrong ? -1 : block, MPI_BYTE);
  t.expect(wrong == (code != MPI_SUCCESS), "who fails at the beginning");
  if (!wrong) code = MPI_File_write_at_all_end(fh, buffer.data(), MPI_STATUS_IGNORE);
  t.expect_same_error(code, accepted, "count -1 on rank 0, split");
  Bytes good;
  request = start_write(t, fh, good, 0);
  t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "the next call");
}

/// CHOIR_FAULT makes storage fail: some write of a series fails on all ranks when it completes.
void storage_error_at_completion(Checks& t) {
  OpenFile fh(t, read_write);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  bool failed_once = false;
  for (int i = 0; i < 12; ++i) {
    Bytes buffer = pattern(block, t.rank);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_File_iwrite_at_all(fh, place(t, i), buffer.data(), block, MPI_BYTE, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    constexpr std::array accepted{MPI_SUCCESS, MPI_ERR_NO_SPACE};
    t.expect_same_error(code, accepted, fmt::format("write {}", i));
    failed_once = failed_once || code != MPI_SUCCESS;
  }
  t.expect(failed_once, "the injected fault was never reported");
}

/// Closing with an operation outstanding is the program's error: nothing may hang or be lost
/// silently.
void close_with_outstanding(Checks& t) {
  MPI_File fh;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  t.expect_success(MPI_File_open(MPI_COMM_WORLD, t.path.c_str(), read_write, MPI_INFO_NULL, &fh),
                   "open");
  Bytes buffer;
  MPI_Request request = start_write(t, fh, buffer, 0);
  const int code = MPI_File_close(&fh);
  const int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
  int outcome[2] = {error_class(code), -error_class(code)};
  MPI_Allreduce(MPI_IN_PLACE, outcome, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  t.expect(outcome[0] == -outcome[1], "close ends alike on all ranks");
  if (code != MPI_SUCCESS && fh != MPI_FILE_NULL)
    t.expect_success(MPI_File_close(&fh), "close after completion");
  if (waited == MPI_SUCCESS) t.expect_file(whole_file(t, 1), "reported as written");
}

/// Requests of several files, completed by several threads.
void several_threads(Checks& t) {
  int level = 0;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) return t.expect(false, "this MPI gives no MPI_THREAD_MULTIPLE");
  OpenFile fh(t, read_write);
  std::array<Bytes, 4> buffers;
  std::array<MPI_Request, 4> requests;
  std::array<int, 4> codes{};
  for (std::size_t i = 0; i < 4; ++i)
    requests[i] = start_write(t, fh, buffers[i], static_cast<int>(i));
  {
    std::vector<std::jthread> waiting;
    for (std::size_t i = 0; i < 4; ++i)
      waiting.emplace_back([&, i] { codes[i] = MPI_Wait(&requests[i], MPI_STATUS_IGNORE); });
  }
  for (const int code : codes) t.expect_success(code, "MPI_Wait in a thread");
  make_visible(t, fh);
  t.expect_file(whole_file(t, 4), "four writes");
}

/// Between begin and end of a split collective other calls on the file go on.
void split_with_others(Checks& t) {
  OpenFile fh(t, read_write);
  Bytes first = pattern(block, t.rank);
  t.expect_success(MPI_File_write_at_all_begin(fh, place(t, 0), first.data(), block, MPI_BYTE),
                   "begin");
  Bytes second = pattern(block, 100 + t.rank);
  t.expect_success(
      MPI_File_write_at(fh, place(t, 1), second.data(), block, MPI_BYTE, MPI_STATUS_IGNORE),
      "write_at between");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all_end(fh, first.data(), &status), "end");
  t.expect(count_of(status, MPI_BYTE) == block, "count of a split collective");
  make_visible(t, fh);
  t.expect_file(whole_file(t, 2), "split and individual");
}

/// The individual pointer moves when a nonblocking call starts.
void pointer_moves_at_start(Checks& t) {
  OpenFile fh(t, read_write);
  t.expect_success(MPI_File_seek(fh, 2 * block * t.rank, MPI_SEEK_SET), "seek");
  std::array<Bytes, 2> buffers{pattern(block, 2 * t.rank), pattern(block, 2 * t.rank + 1)};
  std::array<MPI_Request, 2> requests;
  for (std::size_t i = 0; i < 2; ++i)
    t.expect_success(MPI_File_iwrite_all(fh, buffers[i].data(), block, MPI_BYTE, &requests[i]),
                     "iwrite_all");
  MPI_Offset position = -1;
  t.expect_success(MPI_File_get_position(fh, &position), "get_position");
  t.expect(position == 2 * block * (t.rank + 1), "the pointer moved past both");
  t.expect_success(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  make_visible(t, fh);
  Bytes expected;
  for (int i = 0; i < 2 * t.ranks; ++i) {
    const Bytes one = pattern(block, i);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  t.expect_file(expected, "two writes per rank, one behind the other");
}

constexpr NamedCheck checks[] = {
    {"wait_gives_count", wait_gives_count},
    {"test_until_done", test_until_done},
    {"get_status_keeps_request", get_status_keeps_request},
    {"request_free", request_free},
    {"cancel_is_harmless", cancel_is_harmless},
    {"mixed_arrays", mixed_arrays},
    {"waitall_and_testall", waitall_and_testall},
    {"opposite_orders", opposite_orders},
    {"progress_inside_receive", progress_inside_receive},
    {"start_does_not_wait", start_does_not_wait},
    {"error_at_completion", error_at_completion},
    {"wrong_arguments_at_the_call", wrong_arguments_at_the_call},
    {"wrong_arguments_on_one_rank", wrong_arguments_on_one_rank},
    {"storage_error_at_completion", storage_error_at_completion},
    {"close_with_outstanding", close_with_outstanding},
    {"several_threads", several_threads},
    {"split_with_others", split_with_others},
    {"pointer_moves_at_start", pointer_moves_at_start},
};

int thread_level(const std::string& name) {
  return name == "several_threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  return choir::test::run_checks(argc, argv, choir::test::checks, choir::test::thread_level);
}
