// differential_nonblocking.cpp: one case of nonblocking collectives, several outstanding on several
// files.
//
// Every rank starts the same operations in the same order, as the standard demands, and mixes them
// with messages of its own; each rank completes them in an order of its own. Operations of one file
// use disjoint parts ("slots") of the ranks' views until everything outstanding has been completed.
#include <fmt/format.h>

#include <algorithm>

#include "support/harness.hpp"

namespace choir::test {
namespace {

constexpr std::size_t most_outstanding = 8;
constexpr std::int64_t slot_bytes = 6144;

/// A started operation, or a message of the program's own.
struct Pending {
  std::string name;
  bool is_message;
  bool is_send;
  std::int64_t bytes;
  Buffer buffer;
  Buffer expected;
};

struct SlottedFile {
  TestFile file;
  std::int64_t next_slot = 0;
  std::vector<std::int64_t> settled;  // slots whose writes everybody completed
  std::vector<std::int64_t> written;  // slots written since
};

class Session {
 public:
  Session(Case& c, MPI_Comm comm);
  void run();

 private:
  void open_files();
  void start_operation();
  void start_message();
  void blocking_write();
  void complete_some();
  void complete_one(Rng& rng);
  void complete_all();
  void finish(int index, const MPI_Status& status);
  void settle();
  std::vector<Transfer> slot_transfers(SlottedFile& target, std::int64_t slot);
  void model_write(SlottedFile& target, const std::vector<Transfer>& all, std::uint64_t pattern);
  int start(SlottedFile& target, bool write, bool at, Transfer& mine, void* buffer,
            MPI_Request* request);

  Case& c_;
  MPI_Comm comm_;
  int me_ = 0;
  int ranks_ = 1;
  bool native_;
  Rng own_;  // this rank's own choices
  std::vector<SlottedFile> files_;
  std::vector<MPI_Request> requests_;
  std::vector<Pending> pending_;  // parallel to requests_
  std::vector<Type> kept_;
  int next_tag_ = 0;
};

Session::Session(Case& c, MPI_Comm comm)
    : c_(c), comm_(comm), native_(c.strategy == "native"), own_(0) {
  MPI_Comm_rank(comm, &me_);
  MPI_Comm_size(comm, &ranks_);
  // The host's own library progresses only what is waited for: with it, all ranks complete alike.
  own_ = Rng(c.rng.next() + (native_ ? 0 : static_cast<std::uint64_t>(me_)));
}

void Session::open_files() {
  files_.resize(static_cast<std::size_t>(c_.rng.between(1, 3)));
  for (std::size_t i = 0; i < files_.size(); ++i) {
    TestFile& file = files_[i].file;
    file.basic_bytes = 1 << c_.rng.between(0, 3);
    open_file(c_, file, comm_, MPI_MODE_RDWR | MPI_MODE_CREATE, c_.rng.between(0, 60000),
              fmt::format("case{}.{}", c_.index, i));
    // A read that met the end of file would race with writes that move it.
    ensure_size(c_, file, largest_file);
    set_views(c_, file,
              native_ ? tame_views(c_.rng, ranks_, file.basic_bytes)
                      : exclusive_views(c_.rng, ranks_, file.basic_bytes));
  }
}

/// What each rank transfers in the slot with this number.
std::vector<Transfer> Session::slot_transfers(SlottedFile& target, std::int64_t slot) {
  std::vector<Transfer> all;
  for (int r = 0; r < ranks_; ++r) {
    const std::int64_t offset = slot * (slot_bytes / target.file.etype_size(r));
    const std::int64_t room = slot_bytes / target.file.etype_size(r) * target.file.etype_size(r);
    all.push_back(random_transfer(c_.rng, target.file, r, offset, room, native_));
  }
  return all;
}

void Session::model_write(SlottedFile& target, const std::vector<Transfer>& all,
                          std::uint64_t pattern) {
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Buffer theirs(all[r].memory.map(), all[r].count, pattern + r);
    target.file.model.write(all[r].in_file, theirs.gather(all[r].in_memory));
  }
}

int Session::start(SlottedFile& target, bool write, bool at, Transfer& mine, void* buffer,
                   MPI_Request* request) {
  MPI_File fh = target.file.handle;
  const MPI_Datatype type = mine.memory.handle();
  if (!at) c_.expect_success(MPI_File_seek(fh, mine.offset, MPI_SEEK_SET), "MPI_File_seek");
  if (write && at)
    return MPI_File_iwrite_at_all(fh, mine.offset, buffer, mine.count, type, request);
  if (write) return MPI_File_iwrite_all(fh, buffer, mine.count, type, request);
  if (at) return MPI_File_iread_at_all(fh, mine.offset, buffer, mine.count, type, request);
  return MPI_File_iread_all(fh, buffer, mine.count, type, request);
}

void Session::start_operation() {
  const auto which = static_cast<std::size_t>(c_.rng.between(0, std::ssize(files_) - 1));
  SlottedFile& target = files_[which];
  const bool write = c_.rng.chance(60);
  const bool at = c_.rng.chance(50);
  const bool again = !write && !target.settled.empty() && c_.rng.chance(60);
  const std::int64_t slot = again ? c_.rng.pick(target.settled) : target.next_slot++;
  auto all = slot_transfers(target, slot);
  const std::uint64_t pattern = c_.rng.next();
  Transfer& mine = all[static_cast<std::size_t>(me_)];
  mine.memory.commit();
  Buffer buffer(mine.memory.map(), mine.count, pattern + static_cast<std::uint64_t>(me_));
  Buffer expected = buffer;
  std::int64_t bytes = mine.bytes;
  if (write) {
    model_write(target, all, pattern);
    target.written.push_back(slot);
  } else {
    const Bytes stream = target.file.model.read(mine.in_file);
    bytes = static_cast<std::int64_t>(stream.size());
    expected.scatter(mine.in_memory, stream);
  }
  c_.call = fmt::format("i{}{}_all on file {} slot {}, count {} of {}", write ? "write" : "read",
                        at ? "_at" : "", which, slot, mine.count, mine.memory.text());
  c_.note(c_.call);
  pending_.push_back({c_.call, false, false, bytes, std::move(buffer), std::move(expected)});
  requests_.push_back(MPI_REQUEST_NULL);
  const int code = start(target, write, at, mine, pending_.back().buffer.base(), &requests_.back());
  c_.expect_success(code, "starting");
  if (native_)
    kept_.push_back(std::move(mine.memory));  // ROMIO uses the type after the call
  else
    mine.memory.free_handle();  // legal as soon as the call returns
}

void Session::start_message() {
  const int tag = next_tag_++;
  const int to = (me_ + 1) % ranks_;
  const int from = (me_ + ranks_ - 1) % ranks_;
  const Typemap byte{{{0, 1}}, 0, 1};
  const auto bytes = c_.rng.between(0, 30000);
  const int count = static_cast<int>(bytes);
  const std::uint64_t pattern = c_.rng.next();
  const auto make = [&](int owner) {
    return Buffer(byte, count, pattern + static_cast<std::uint64_t>(owner));
  };
  Buffer blank(byte, count, 0);
  Buffer arrived = blank;
  const std::vector<Segment> whole{{0, bytes}};
  arrived.scatter(whole, make(from).gather(whole));
  pending_.push_back({"own receive", true, false, bytes, std::move(blank), std::move(arrived)});
  requests_.push_back(MPI_REQUEST_NULL);
  // The wildcard must never match anything but this program's own messages.
  MPI_Irecv(pending_.back().buffer.base(), count, MPI_BYTE, MPI_ANY_SOURCE, tag, comm_,
            &requests_.back());
  pending_.push_back({"own send", true, true, bytes, make(me_), make(me_)});
  requests_.push_back(MPI_REQUEST_NULL);
  MPI_Isend(pending_.back().buffer.base(), count, MPI_BYTE, to, tag, comm_, &requests_.back());
}

/// A blocking collective between the nonblocking ones.
void Session::blocking_write() {
  SlottedFile& target = files_[static_cast<std::size_t>(c_.rng.between(0, std::ssize(files_) - 1))];
  const std::int64_t slot = target.next_slot++;
  auto all = slot_transfers(target, slot);
  const std::uint64_t pattern = c_.rng.next();
  Transfer& mine = all[static_cast<std::size_t>(me_)];
  mine.memory.commit();
  Buffer buffer(mine.memory.map(), mine.count, pattern + static_cast<std::uint64_t>(me_));
  c_.call = fmt::format("blocking write_at_all, slot {}", slot);
  MPI_Status status{};
  c_.expect_success(MPI_File_write_at_all(target.file.handle, mine.offset, buffer.base(),
                                          mine.count, mine.memory.handle(), &status),
                    "MPI_File_write_at_all");
  check_status(c_, mine, status, mine.bytes);
  model_write(target, all, pattern);
  target.written.push_back(slot);
}

void Session::finish(int index, const MPI_Status& status) {
  const auto i = static_cast<std::size_t>(index);
  Pending& done = pending_[i];
  c_.call = "completion of " + done.name;
  if (requests_[i] != MPI_REQUEST_NULL) c_.fail("the request is not null after completion");
  check_buffer(c_, done.expected, done.buffer);
  int count = -7;
  MPI_Get_count(&status, MPI_BYTE, &count);
  // ROMIO leaves the count of nonblocking collectives unset.
  const bool has_count = !done.is_send && !(native_ && !done.is_message);
  if (has_count && count != done.bytes)
    c_.fail(fmt::format("MPI_Get_count gives {} instead of {} bytes", count, done.bytes));
  requests_.erase(requests_.begin() + index);
  pending_.erase(pending_.begin() + index);
}

void Session::complete_one(Rng& rng) {
  const int count = static_cast<int>(requests_.size());
  const int one = static_cast<int>(rng.between(0, count - 1));
  MPI_Request& chosen = requests_[static_cast<std::size_t>(one)];
  std::vector<MPI_Status> statuses(requests_.size());
  std::vector<int> indices(requests_.size());
  int index = one;
  int flag = 1;
  int some = 0;
  MPI_Status status{};
  switch (native_ ? 0 : rng.between(0, 6)) {
    case 0:
      c_.expect_success(MPI_Wait(&chosen, &status), "MPI_Wait");
      break;
    case 1:
      c_.expect_success(MPI_Waitany(count, requests_.data(), &index, &status), "MPI_Waitany");
      break;
    case 2:
      c_.expect_success(MPI_Test(&chosen, &flag, &status), "MPI_Test");
      break;
    case 3:
      c_.expect_success(MPI_Testany(count, requests_.data(), &index, &flag, &status),
                        "MPI_Testany");
      break;
    case 4:
      c_.expect_success(MPI_Request_get_status(chosen, &flag, &status), "MPI_Request_get_status");
      if (flag) c_.expect_success(MPI_Wait(&chosen, &status), "MPI_Wait");
      break;
    default: {
      const bool wait = rng.chance(50);
      const int code =
          wait ? MPI_Waitsome(count, requests_.data(), &some, indices.data(), statuses.data())
               : MPI_Testsome(count, requests_.data(), &some, indices.data(), statuses.data());
      c_.expect_success(code, wait ? "MPI_Waitsome" : "MPI_Testsome");
      if (wait && some < 1) c_.fail("MPI_Waitsome completed nothing");
      std::vector<std::pair<int, MPI_Status>> done;
      for (int i = 0; i < some; ++i)
        done.emplace_back(indices[static_cast<std::size_t>(i)],
                          statuses[static_cast<std::size_t>(i)]);
      std::sort(done.begin(), done.end(), [](auto& a, auto& b) { return a.first > b.first; });
      for (const auto& [i, s] : done) finish(i, s);
      return;
    }
  }
  if (flag) finish(index, status);
}

void Session::complete_some() {
  for (std::int64_t tries = own_.between(0, 3); tries > 0 && !requests_.empty(); --tries)
    complete_one(own_);
}

void Session::complete_all() {
  if (requests_.empty()) return;
  std::vector<MPI_Status> statuses(requests_.size());
  const int count = static_cast<int>(requests_.size());
  int flag = 0;
  if (!native_ && own_.chance(40)) {
    while (!flag)
      if (!c_.expect_success(MPI_Testall(count, requests_.data(), &flag, statuses.data()),
                             "MPI_Testall"))
        break;
  } else {
    c_.expect_success(MPI_Waitall(count, requests_.data(), statuses.data()), "MPI_Waitall");
  }
  for (int i = count; i-- > 0;) finish(i, statuses[static_cast<std::size_t>(i)]);
}

/// Everything completed everywhere: what was written may be read again by the rank that wrote it.
void Session::settle() {
  complete_all();
  if (native_)
    for (SlottedFile& f : files_) sync_file(c_, f.file);
  for (SlottedFile& f : files_) {
    f.settled.insert(f.settled.end(), f.written.begin(), f.written.end());
    f.written.clear();
  }
}

void Session::run() {
  open_files();
  int outstanding = 0;  // the most any rank can have
  for (std::int64_t events = c_.rng.between(3, 16); events > 0; --events) {
    const auto kind = c_.rng.between(0, 9);
    if (kind == 0 || outstanding >= static_cast<int>(most_outstanding)) {
      settle();
      outstanding = 0;
    } else if (kind <= 2) {
      start_message();
    } else if (kind == 3 && !native_) {
      blocking_write();
    } else {
      start_operation();
      ++outstanding;
    }
    complete_some();
  }
  settle();
  for (SlottedFile& f : files_) {
    sync_file(c_, f.file);
    close_file(c_, f.file);
  }
}

}  // namespace

void run_nonblocking_case(Case& c) {
  const std::vector<int> members = random_members(c.rng, c.world_size);
  MPI_Comm comm = communicator_of(members);
  if (comm == MPI_COMM_NULL) return;
  Session(c, comm).run();
  MPI_Comm_free(&comm);
}

}  // namespace choir::test
