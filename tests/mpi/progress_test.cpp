// progress_test.cpp: nonblocking collective I/O goes on whatever the program waits in, and nobody
// burns a core for it.
//
// A plain MPI program: progress_test NAME|all|--list [--dir DIR]. In every `in_...` check rank 0
// completes its file operation first and only then takes part in what the others wait in: if their
// operations did not go on in there, nobody would ever come out.
#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "support/checks.hpp"

namespace choir::test {
namespace {

constexpr int block = 5000;

Bytes pattern(int owner) { return pattern_bytes(block, 700 + static_cast<std::uint64_t>(owner)); }

Bytes whole_file(const Checks& t, int blocks_per_rank = 1) {
  Bytes all;
  for (int i = 0; i < blocks_per_rank * t.ranks; ++i) {
    const Bytes one = pattern(i);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// Rank 0: complete, then meet. The others: meet, then complete.
template <class Meet>
void meet_meanwhile(Checks& t, Meet&& meet) {
  OpenFile fh(t, read_write);
  const Bytes buffer = pattern(t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  t.expect_success(MPI_File_iwrite_at_all(fh, MPI_Offset{block} * t.rank, buffer.data(), block,
                                          MPI_BYTE, &request),
                   "iwrite");
  if (t.rank == 0) t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  t.expect_success(meet(), "the call that waits");
  if (t.rank != 0) t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  make_visible(t, fh);
  t.expect_file(whole_file(t), "one write");
}

void in_barrier(Checks& t) {
  meet_meanwhile(t, [] { return MPI_Barrier(MPI_COMM_WORLD); });
}

void in_rooted(Checks& t) {
  std::vector<int> many(static_cast<std::size_t>(t.ranks), 3);
  int one = 7;
  meet_meanwhile(t, [&] { return MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD); });
  meet_meanwhile(
      t, [&] { return MPI_Scatter(many.data(), 1, MPI_INT, &one, 1, MPI_INT, 0, MPI_COMM_WORLD); });
  t.expect(one == 3, "the value scattered");
}

void in_reductions(Checks& t) {
  int one = 1, sum = 0;
  meet_meanwhile(t, [&] { return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); });
  t.expect(sum == t.ranks, "the sum");
  meet_meanwhile(t, [&] { return MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); });
  t.expect(sum == t.rank + 1, "the running sum");
  std::vector<int> many(static_cast<std::size_t>(t.ranks), 2);
  meet_meanwhile(t, [&] {
    return MPI_Reduce_scatter_block(many.data(), &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  });
  t.expect(sum == 2 * t.ranks, "the scattered sum");
}

void in_exchanges(Checks& t) {
  const auto ranks = static_cast<std::size_t>(t.ranks);
  std::vector<int> mine(ranks, t.rank), all(ranks, -1);
  meet_meanwhile(t, [&] {
    return MPI_Allgather(mine.data(), 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  });
  meet_meanwhile(t, [&] {
    return MPI_Alltoall(mine.data(), 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  });
  for (std::size_t r = 0; r < ranks; ++r) t.expect(all[r] == static_cast<int>(r), "exchanged");
}

/// Calls that make something, and wait for everyone to do it.
void in_constructors(Checks& t) {
  MPI_Comm comm = MPI_COMM_NULL;
  meet_meanwhile(t, [&] { return MPI_Comm_split(MPI_COMM_WORLD, 0, t.rank, &comm); });
  MPI_Comm_free(&comm);
  MPI_File other = MPI_FILE_NULL;
  const std::string name = t.path + ".other";
  meet_meanwhile(t, [&] {
    return MPI_File_open(MPI_COMM_WORLD, name.c_str(), read_write | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &other);
  });
  meet_meanwhile(t, [&] { return MPI_File_close(&other); });
}

/// Rank 0 sends to everybody else, who receive in several ways.
void in_receives(Checks& t) {
  int token = 5;
  const auto send_to_all = [&] {
    int code = MPI_SUCCESS;
    for (int r = 1; r < t.ranks && code == MPI_SUCCESS; ++r)
      code = MPI_Send(&token, 1, MPI_INT, r, 4, MPI_COMM_WORLD);
    return code;
  };
  const auto with = [&](auto&& receive) {
    meet_meanwhile(t, [&] { return t.rank == 0 ? send_to_all() : receive(); });
  };
  MPI_Status status;
  with([&] { return MPI_Recv(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &status); });
  with([&] {
    MPI_Probe(0, 4, MPI_COMM_WORLD, &status);
    return MPI_Recv(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &status);
  });
  with([&] {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Mprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &message, &status);
    return MPI_Mrecv(&token, 1, MPI_INT, &message, &status);
  });
  with([&] {
    MPI_Request own = MPI_REQUEST_NULL;
    MPI_Irecv(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &own);
    return MPI_Wait(&own, &status);
  });
  with([&] {
    std::array<MPI_Request, 2> own{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index = -1;
    MPI_Irecv(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &own[1]);
    return MPI_Waitany(2, own.data(), &index, &status);
  });
  t.expect(token == 5 && (t.rank == 0 || count_of(status, MPI_INT) == 1), "the message");
}

/// The others send what rank 0 receives late, in ways that wait for it.
void in_sends(Checks& t) {
  int in = 0;
  const auto with = [&](auto&& send) {
    meet_meanwhile(t, [&] {
      if (t.rank != 0) return send();
      int code = MPI_SUCCESS;
      for (int r = 1; r < t.ranks && code == MPI_SUCCESS; ++r)
        code = MPI_Recv(&in, 1, MPI_INT, r, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return code;
    });
  };
  int out = 8;
  with([&] { return MPI_Ssend(&out, 1, MPI_INT, 0, 6, MPI_COMM_WORLD); });
  meet_meanwhile(t, [&] {
    const int next = (t.rank + 1) % t.ranks, last = (t.rank + t.ranks - 1) % t.ranks;
    return MPI_Sendrecv(&out, 1, MPI_INT, next, 7, &in, 1, MPI_INT, last, 7, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
  });
  t.expect(in == 8, "the value exchanged");
#ifdef CHOIR_HAS_LARGE_COUNT
  with([&] { return MPI_Ssend_c(&out, 1, MPI_INT, 0, 6, MPI_COMM_WORLD); });
#endif
}

/// A split collective goes on in there too.
void in_split_collective(Checks& t) {
  OpenFile fh(t, read_write);
  const Bytes buffer = pattern(t.rank);
  int token = 2;
  t.expect_success(
      MPI_File_write_at_all_begin(fh, MPI_Offset{block} * t.rank, buffer.data(), block, MPI_BYTE),
      "begin");
  if (t.rank != 0) MPI_Recv(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Status status;
  t.expect_success(MPI_File_write_at_all_end(fh, buffer.data(), &status), "end");
  for (int r = 1; t.rank == 0 && r < t.ranks; ++r)
    MPI_Send(&token, 1, MPI_INT, r, 3, MPI_COMM_WORLD);
  make_visible(t, fh);
  t.expect_file(whole_file(t), "one split write");
}

/// Nanoseconds the thread of this name has run; -1 if there is none.
long long thread_run_ns(const std::string& name) {
  long long run = -1;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return run;
  while (const dirent* const task = readdir(tasks)) {
    const std::string base = std::string("/proc/self/task/") + task->d_name;
    std::string found;
    std::ifstream comm(base + "/comm");
    if (!std::getline(comm, found) || found != name) continue;
    std::ifstream(base + "/schedstat") >> run;
  }
  closedir(tasks);
  return run;
}

/// With nothing under way the thread is not scheduled at all: not once in a whole interval.
void idle_thread_sleeps(Checks& t) {
  OpenFile fh(t, read_write);
  const Bytes buffer = pattern(t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  t.expect_success(MPI_File_iwrite_at_all(fh, MPI_Offset{block} * t.rank, buffer.data(), block,
                                          MPI_BYTE, &request),
                   "iwrite");
  t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  t.expect(thread_run_ns("choir-progress") >= 0, "there is a progress thread");
  bool slept = false;
  for (int tries = 0; tries < 200 && !slept; ++tries) {
    const auto before = thread_run_ns("choir-progress");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    slept = thread_run_ns("choir-progress") == before;
  }
  t.expect(slept, "the idle progress thread sleeps");
  // Blocking calls are their own callers' business: they do not wake it.
  bool undisturbed = false;
  for (int tries = 0; tries < 5; ++tries) {
    const auto before = thread_run_ns("choir-progress");
    for (int i = 0; i < 5; ++i)
      t.expect_success(MPI_File_write_at_all(fh, MPI_Offset{block} * t.rank, buffer.data(), block,
                                             MPI_BYTE, MPI_STATUS_IGNORE),
                       "write_at_all");
    undisturbed = undisturbed || thread_run_ns("choir-progress") == before;
  }
  t.expect(undisturbed, "blocking calls leave the thread asleep");
}

/// The operation ends although its rank makes no MPI call at all.
void without_any_call(Checks& t) {
  OpenFile fh(t, read_write);
  const Bytes buffer = pattern(t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  t.expect_success(MPI_File_iwrite_at_all(fh, MPI_Offset{block} * t.rank, buffer.data(), block,
                                          MPI_BYTE, &request),
                   "iwrite");
  const Bytes expected = whole_file(t);
  bool there = false;
  for (int tries = 0; tries < 10000 && !there; ++tries) {
    std::ifstream in(t.path, std::ios::binary);
    there = Bytes{std::istreambuf_iterator<char>(in), {}} == expected;
    if (!there) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  t.expect(there, "the bytes appear while nobody calls MPI");
  t.expect_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

/// A file that others cut while it is read through a mapping: an error or fewer bytes, as in a
/// blocking call, but never the end of the program.
void cut_meanwhile(Checks& t) {
  constexpr std::int64_t large = 16 << 20;
  const auto size = 2 * large * t.ranks;
  t.create_file({});
  t.expect(truncate(t.path.c_str(), size) == 0, "truncate");
  OpenFile fh(t, MPI_MODE_RDWR);
  std::atomic<bool> stop{false};
  std::thread cutter;
  if (t.rank == 0)
    cutter = std::thread([&] {
      while (!stop) {
        t.expect(truncate(t.path.c_str(), block) == 0 && truncate(t.path.c_str(), size) == 0,
                 "truncate");
        usleep(2000);
      }
    });
  Bytes found(large);
  for (int i = 0; i < 40; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_File_iread_at_all(fh, large * t.rank, found.data(), size_of(found), MPI_BYTE, &request);
    const int code = MPI_Wait(&request, &status);
    t.expect(code == MPI_SUCCESS || error_class(code) == MPI_ERR_IO, "an error of this kind");
  }
  stop = true;
  if (cutter.joinable()) cutter.join();
}

constexpr NamedCheck checks[] = {
    {"in_barrier", in_barrier},
    {"in_rooted", in_rooted},
    {"in_reductions", in_reductions},
    {"in_exchanges", in_exchanges},
    {"in_constructors", in_constructors},
    {"in_receives", in_receives},
    {"in_sends", in_sends},
    {"in_split_collective", in_split_collective},
    {"idle_thread_sleeps", idle_thread_sleeps},
    {"without_any_call", without_any_call},
    {"cut_meanwhile", cut_meanwhile},
};

int thread_level(const std::string&) { return MPI_THREAD_SINGLE; }

}  // namespace
}  // namespace choir::test

int main(int argc, char** argv) {
  return choir::test::run_checks(argc, argv, choir::test::checks, choir::test::thread_level);
}
