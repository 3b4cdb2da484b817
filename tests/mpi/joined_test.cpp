// joined_test.cpp: nonblocking collectives on several files that choir may carry out as one.
//
// joined_test CHECK --dir DIR [--seed N] [--rounds N] (of `interleavings`); `all` is all but the
// two that have runs of their own. Run with
// join_nonblocking on; every check must hold without it too, but for `one_call`, which asks that
// the calls were joined. Bytes are compared by plain reads and by reads through MPI. Ranks differ
// in the order they start and complete calls, in ways MPI allows.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <choir/mcio.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

int rank = 0, ranks = 1, failures = 0, run_number = 0;
int seed = 2024, rounds = 6;
std::string folder = ".";

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "FAIL joined rank %d of %d: %s\n", rank, ranks, what.c_str());
  ++failures;
}

void expect_success(int code, const char* what) { expect(code == MPI_SUCCESS, what); }

/// Bytes a rank has in one slot of a file. Slots follow each other, each with a piece per rank.
constexpr int piece = 700;

char value_at(int file, int slot, int owner, int i) {
  return static_cast<char>(1 + (file * 53 + slot * 29 + owner * 17 + i) % 120);
}

std::vector<char> bytes_of(int file, int slot, int owner) {
  std::vector<char> bytes(piece);
  for (int i = 0; i < piece; ++i)
    bytes[static_cast<std::size_t>(i)] = value_at(file, slot, owner, i);
  return bytes;
}

/// How the bytes of a piece differ from those wanted; nothing if they do not.
std::string difference(const std::vector<char>& got, const std::vector<char>& wanted) {
  const auto [there, here] = std::mismatch(got.begin(), got.end(), wanted.begin());
  if (there == got.end()) return "";
  return ": byte " + std::to_string(there - got.begin()) + " is " + std::to_string(*there) +
         ", not " + std::to_string(*here);
}

MPI_Offset place_of(int slot, int owner) {
  return static_cast<MPI_Offset>(piece) * (static_cast<MPI_Offset>(slot) * ranks + owner);
}

/// Files of this program, and the calls under way on them.
class Files {
 public:
  explicit Files(int count, const std::map<std::string, std::string>& hints = {},
                 const std::map<int, std::pair<std::string, std::string>>& hint_of_one = {}) {
    for (int f = 0; f < count; ++f) {
      MPI_Info info = MPI_INFO_NULL;
      MPI_Info_create(&info);
      for (const auto& [key, value] : hints) MPI_Info_set(info, key.c_str(), value.c_str());
      if (const auto one = hint_of_one.find(f); one != hint_of_one.end())
        MPI_Info_set(info, one->second.first.c_str(), one->second.second.c_str());
      if (rank == 0) unlink(path(f).c_str());
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_File handle = MPI_FILE_NULL;
      if (MPI_File_open(MPI_COMM_WORLD, path(f).c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info,
                        &handle) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 2);
      MPI_Info_free(&info);
      handles.push_back(handle);
    }
  }
  /// Closes, and compares every slot that was written, on rank 0.
  ~Files() {
    for (auto& handle : handles) MPI_File_close(&handle);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) compare();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  /// Starts a write of this rank's piece of a slot; all ranks do, once per slot.
  std::size_t write(int file, int slot) {
    written_[file].push_back(slot);
    buffers_.push_back(bytes_of(file, slot, rank));
    requests.push_back(MPI_REQUEST_NULL);
    auto& bytes = buffers_.back();
    expect_success(MPI_File_iwrite_at_all(of(file), place_of(slot, rank), bytes.data(), piece,
                                          MPI_BYTE, &requests.back()),
                   "iwrite_at_all");
    return requests.size() - 1;
  }
  /// Starts a read of what the next rank has in a slot; checked by check_reads().
  std::size_t read(int file, int slot) {
    const int owner = (rank + 1) % ranks;
    expected_.push_back(bytes_of(file, slot, owner));
    reads_.emplace_back(piece);
    requests.push_back(MPI_REQUEST_NULL);
    expect_success(MPI_File_iread_at_all(of(file), place_of(slot, owner), reads_.back().data(),
                                         piece, MPI_BYTE, &requests.back()),
                   "iread_at_all");
    return requests.size() - 1;
  }
  void write_now(int file, int slot) {
    written_[file].push_back(slot);
    const auto bytes = bytes_of(file, slot, rank);
    expect_success(MPI_File_write_at_all(of(file), place_of(slot, rank), bytes.data(), piece,
                                         MPI_BYTE, MPI_STATUS_IGNORE),
                   "write_at_all");
  }
  void wait(std::size_t index) {
    MPI_Status status;
    int count = 0;
    expect_success(MPI_Wait(&requests[index], &status), "MPI_Wait");
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(count == piece, "a status has the bytes of its call");
  }
  void wait_all() {
    expect_success(
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
    requests.clear();
    expect(reads_ == expected_, "reads give what was written");
    reads_.clear();
    expected_.clear();
    buffers_.clear();
  }
  void mark_written(int file, int slot) { written_[file].push_back(slot); }
  void forget(int file) { written_.erase(file); }
  MPI_File of(int file) const { return handles[static_cast<std::size_t>(file)]; }
  std::string info(int file, const char* key) const {
    MPI_Info info = MPI_INFO_NULL;
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_File_get_info(of(file), &info);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    return found != 0 ? value : "";
  }

  std::vector<MPI_File> handles;
  std::vector<MPI_Request> requests;

 private:
  static std::string path(int file) {
    return folder + "/joined-" + std::to_string(run_number) + "-" + std::to_string(file);
  }
  void compare() const {
    for (int f = 0; f < static_cast<int>(handles.size()); ++f) {
      const int fd = open(path(f).c_str(), O_RDONLY | O_CLOEXEC);
      const auto found = written_.find(f);
      if (found != written_.end())
        for (const int slot : found->second)
          for (int owner = 0; owner < ranks; ++owner) {
            std::vector<char> bytes(piece);
            const auto got = pread(fd, bytes.data(), piece, place_of(slot, owner));
            expect(got == piece && bytes == bytes_of(f, slot, owner),
                   "file " + std::to_string(f) + " slot " + std::to_string(slot) + " rank " +
                       std::to_string(owner) + " has its bytes" +
                       difference(bytes, bytes_of(f, slot, owner)));
          }
      if (fd >= 0) close(fd);
      unlink(path(f).c_str());
    }
  }

  std::map<int, std::vector<int>> written_;
  std::vector<std::vector<char>> buffers_, reads_, expected_;  ///< vectors' bytes do not move
};

/// Needs join_nonblocking on, and no thread that may begin before the program waits.
void one_call() {
  Files files(4, {{"choir_multi_strategy", "assigned"}});
  for (int slot = 0; slot < 3; ++slot) {
    for (int f = 0; f < 4; ++f) files.write(f, slot);
    files.wait_all();
    for (int f = 0; f < 4; ++f)
      expect(files.info(f, "choir_strategy") == "auto (assigned)",
             "the calls were one: " + files.info(f, "choir_strategy"));
  }
  files.write(2, 3);
  files.wait_all();
  expect(files.info(2, "choir_strategy") != "auto (assigned)", "one call alone is an ordinary one");
}

void opposite_orders() {
  Files files(3);
  for (int slot = 0; slot < 4; ++slot) {
    for (int i = 0; i < 3; ++i) files.write(rank % 2 == 0 ? i : 2 - i, slot);
    files.wait_all();
  }
}

/// Rank 0 starts all and waits for all; the others wait for each before they start the next.
void one_by_one() {
  Files files(4);
  for (int slot = 0; slot < 3; ++slot) {
    for (int f = 0; f < 4; ++f) {
      const auto call = files.write(f, slot);
      if (rank != 0) files.wait(call);
    }
    files.wait_all();
  }
}

/// Rank 0 waits for the last call first, the others for the first.
void backwards() {
  Files files(4);
  for (int slot = 0; slot < 3; ++slot) {
    for (int f = 0; f < 4; ++f) files.write(f, slot);
    for (std::size_t i = 0; i < 4; ++i) files.wait(rank == 0 ? 3 - i : i);
    files.wait_all();
  }
}

/// The program's own messages between starting and waiting: rank 0 hears of rank 1 only when rank
/// 1's calls are complete, for which rank 0's have to go on inside its receive.
void messages_between() {
  Files files(3);
  for (int slot = 0; slot < 3; ++slot) {
    int word = slot;
    for (int f = 0; f < 3; ++f) files.write(f, slot);
    if (rank == 0 && ranks > 1)
      MPI_Recv(&word, 1, MPI_INT, 1, slot, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    files.wait_all();
    if (rank == 1) MPI_Send(&word, 1, MPI_INT, 0, slot, MPI_COMM_WORLD);
  }
}

/// A file's calls keep their order: reads behind writes that are not complete find their bytes.
void reads_behind_writes() {
  Files files(3);
  for (int slot = 0; slot < 3; ++slot) {
    for (int f = 0; f < 3; ++f) files.write(f, slot);
    for (int f = 0; f < 3; ++f) files.read(f, slot);
    files.wait_all();
  }
}

/// Blocking and split calls between joined ones, on the same files.
void others_between() {
  Files files(2);
  for (int round = 0; round < 3; ++round) {
    const int slot = 5 * round;
    files.write(0, slot);
    files.write_now(0, slot + 1);
    files.write(0, slot + 2);
    files.write(1, slot);
    const auto bytes = bytes_of(1, slot + 3, rank);
    expect_success(MPI_File_write_at_all_begin(files.of(1), place_of(slot + 3, rank), bytes.data(),
                                               piece, MPI_BYTE),
                   "write_at_all_begin");
    files.mark_written(1, slot + 3);
    files.write(1, slot + 4);
    expect_success(MPI_File_write_at_all_end(files.of(1), bytes.data(), MPI_STATUS_IGNORE),
                   "write_at_all_end");
    files.wait_all();
  }
}

/// Calls over many files between joined ones: they tie queues together that joined calls tie too.
void multi_between() {
  Files files(3);
  for (int slot = 0; slot < 9; slot += 3) {
    files.write(0, slot);
    std::vector<std::vector<char>> bytes;
    std::vector<MPI_File> handles{files.of(0), files.of(1)};
    std::vector<MPI_Offset> offsets(2, place_of(slot + 1, rank));
    std::vector<void*> buffers;
    std::vector<int> counts(2, piece);
    std::vector<MPI_Datatype> types(2, MPI_BYTE);
    std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
    for (int f = 0; f < 2; ++f) bytes.push_back(bytes_of(f, slot + 1, rank));
    for (auto& one : bytes) buffers.push_back(one.data());
    expect_success(MCIO_File_iwrite_at_all(handles.data(), 2, offsets.data(), buffers.data(),
                                           counts.data(), types.data(), requests.data()),
                   "MCIO_File_iwrite_at_all");
    for (int f = 0; f < 2; ++f) files.mark_written(f, slot + 1);
    files.write(1, slot + 2);
    files.write(2, slot);
    files.wait_all();
    expect_success(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    std::vector<MPI_Status> statuses(2);
    expect_success(MCIO_File_write_at_all(handles.data(), 2, offsets.data(), buffers.data(),
                                          counts.data(), types.data(), statuses.data()),
                   "MCIO_File_write_at_all");
  }
}

/// One call over all files: `count` bytes of this rank's piece of a slot, from byte `first` on.
void write_in_one_call(Files& files, int slot, int first, int count) {
  std::vector<std::vector<char>> bytes;
  std::vector<void*> buffers;
  const auto n = files.handles.size();
  for (std::size_t f = 0; f < n; ++f) bytes.push_back(bytes_of(static_cast<int>(f), slot, rank));
  for (auto& one : bytes) buffers.push_back(one.data() + first);
  std::vector<MPI_Offset> offsets(n, place_of(slot, rank) + first);
  std::vector<int> counts(n, count);
  std::vector<MPI_Datatype> types(n, MPI_BYTE);
  std::vector<MPI_Status> statuses(n);
  expect_success(
      MCIO_File_write_at_all(files.handles.data(), static_cast<int>(n), offsets.data(),
                             buffers.data(), counts.data(), types.data(), statuses.data()),
      "MCIO_File_write_at_all");
  for (auto& status : statuses) {
    int got = -1;
    MPI_Get_count(&status, MPI_BYTE, &got);
    expect(got == count, "a status has the bytes of its file");
  }
}

/// Ranks move their bytes before they meet, since the calls before were alike; then it turns out
/// that one rank asks otherwise. What it left is written by a call of its own.
void one_rank_changes() {
  Files files(3, {{"choir_multi_strategy", "individual"}});
  for (int slot = 0; slot < 15; ++slot) {
    const bool other = slot % 3 == 2 && rank == slot % ranks;
    write_in_one_call(files, slot, 0, other ? piece / 2 : piece);
    write_in_one_call(files, slot, piece / 2, other ? piece - piece / 2 : 0);
    for (int f = 0; f < 3; ++f) files.mark_written(f, slot);
  }
}

/// One file is full: its request says so on every rank, the others have their bytes.
void one_file_full() {
  Files files(3, {}, {{1, {"choir_fault", "op=write,after=0,error=ENOSPC"}}});
  for (const auto handle : files.handles) MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
  for (int slot = 0; slot < 3; ++slot) {
    for (int f = 0; f < 3; ++f) files.write(f, slot);
    std::vector<MPI_Status> statuses(3);
    expect(MPI_Waitall(3, files.requests.data(), statuses.data()) == MPI_ERR_IN_STATUS,
           "a full file is an error in a status");
    int error_class = MPI_SUCCESS;
    MPI_Error_class(statuses[1].MPI_ERROR, &error_class);
    expect(error_class == MPI_ERR_NO_SPACE, "the full file says so");
    expect(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[2].MPI_ERROR == MPI_SUCCESS,
           "the other files are fine");
    files.wait_all();
  }
  files.forget(1);
}

/// Requests that the program gives away: closing waits for their calls.
void freed_requests() {
  Files files(3);
  for (int f = 0; f < 3; ++f) files.write(f, 0);
  for (auto& request : files.requests) MPI_Request_free(&request);
  for (auto& handle : files.handles) MPI_File_close(&handle);
  files.handles.assign(3, MPI_FILE_NULL);
  files.requests.clear();
}

/// More files than a muster counts; the last ones are served one by one.
void many_files() {
  constexpr int count = 132;
  Files files(count, {{"choir_cycle_buffer_bytes", "4096"}, {"choir_strategy", "individual"}});
  for (int slot = 0; slot < 2; ++slot) {
    for (int f = 0; f < count; ++f) files.write(f, slot);
    files.wait_all();
  }
}

/// As many calls in one as their lead's room has place for, again and again: their ranks run ahead,
/// and the outcomes they leave are beside what the next one's ranks bring.
void full_rooms() {
  Files files(1, {{"choir_cycle_buffer_bytes", "4096"}, {"choir_strategy", "individual"}});
  for (int round = 0; round < 100; ++round) {
    for (int slot = 0; slot < 60; ++slot) files.write(0, slot);
    files.wait_all();
  }
}

/// Starts one batch of calls, in this rank's own order of files. While a batch is being started
/// only earlier ones may be waited for, or two ranks might wait for what the other has not started.
void random_batch(Files& files, std::mt19937_64& common, std::mt19937_64& own, int& slot) {
  struct Start {
    int file, slot;
    bool writing;
  };
  std::vector<std::vector<Start>> queues(files.handles.size());
  for (auto calls = 1 + common() % 8; calls > 0; --calls) {
    const auto file = common() % files.handles.size();
    queues[file].push_back({static_cast<int>(file), slot, true});
    if (common() % 3 == 0) queues[file].push_back({static_cast<int>(file), slot, false});
    ++slot;
  }
  const auto earlier = files.requests.size();
  while (true) {
    std::erase_if(queues, [](const auto& queue) { return queue.empty(); });
    if (queues.empty()) break;
    auto& queue = queues[own() % queues.size()];
    const auto next = queue.front();
    queue.erase(queue.begin());
    if (next.writing)
      files.write(next.file, next.slot);
    else
      files.read(next.file, next.slot);
    int flag = 0, index = 0;
    const auto kind = own() % 6;
    if (kind == 0)
      MPI_Test(&files.requests[own() % files.requests.size()], &flag, MPI_STATUS_IGNORE);
    if (kind == 1)
      MPI_Testany(static_cast<int>(files.requests.size()), files.requests.data(), &index, &flag,
                  MPI_STATUS_IGNORE);
    if (kind == 2 && earlier > 0) MPI_Wait(&files.requests[own() % earlier], MPI_STATUS_IGNORE);
    if (kind == 3 && earlier > 0)
      MPI_Waitany(static_cast<int>(earlier), files.requests.data(), &index, MPI_STATUS_IGNORE);
  }
}

void interleavings() {
  std::mt19937_64 common(static_cast<unsigned>(seed)), own(static_cast<unsigned>(seed + 77 + rank));
  for (int round = 0; round < rounds; ++round) {
    Files files(static_cast<int>(1 + common() % 5));
    int slot = 0;
    for (auto batches = 1 + common() % 5; batches > 0; --batches) {
      random_batch(files, common, own, slot);
      if (common() % 4 == 0) files.write_now(0, slot++);
      const bool all = common() % 3 == 0;
      if (all && own() % 2 == 0) {
        int flag = 0;
        while (flag == 0)
          MPI_Testall(static_cast<int>(files.requests.size()), files.requests.data(), &flag,
                      MPI_STATUSES_IGNORE);
      }
      if (all) files.wait_all();
    }
    files.wait_all();
  }
}

struct Check {
  const char* name;
  void (*run)();
};

constexpr Check checks[] = {
    {"one_call", one_call},
    {"opposite_orders", opposite_orders},
    {"one_by_one", one_by_one},
    {"backwards", backwards},
    {"messages_between", messages_between},
    {"reads_behind_writes", reads_behind_writes},
    {"others_between", others_between},
    {"multi_between", multi_between},
    {"one_rank_changes", one_rank_changes},
    {"one_file_full", one_file_full},
    {"freed_requests", freed_requests},
    {"many_files", many_files},
    {"full_rooms", full_rooms},
    {"interleavings", interleavings},
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  run_number = static_cast<int>(getpid());
  MPI_Bcast(&run_number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const std::string wanted = argc > 1 ? argv[1] : "";
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--dir") folder = value;
    if (option == "--seed") seed = std::stoi(value);
    if (option == "--rounds") rounds = std::stoi(value);
  }
  bool found = false;
  for (const auto& check : checks) {
    if (wanted != check.name && wanted != "all") continue;
    if (wanted == "all" && (check.run == one_call || check.run == many_files)) continue;
    found = true;
    check.run();
  }
  if (!found) std::fprintf(stderr, "joined_test: there is no check \"%s\"\n", wanted.c_str());
  int worst = failures;
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && worst == 0 && found) std::printf("ok: %s\n", wanted.c_str());
  MPI_Finalize();
  return worst == 0 && found ? 0 : 1;
}
