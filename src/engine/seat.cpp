#include "engine/seat.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "engine/packet.hpp"
#include "engine/window.hpp"
#include "mpi/error.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

/// Somebody who has bytes in windows [first, last) of one aggregator.
struct Contributor {
  int rank;
  Extent windows;
};

/// One aggregator's windows as a seat sees them: who contributes to which.
struct Course {
  std::size_t aggregator = 0;
  std::vector<Contributor> local;   ///< ranks of this node, by local position
  std::vector<Contributor> remote;  ///< ranks (or relays) of other nodes
  std::int64_t next = 0;
  std::int64_t last = 0;

  /// Moves `next` on to a window that somebody has bytes in.
  void skip_empty() {
    const auto meets = [this](const Contributor& c) {
      return c.windows.begin <= next && next < c.windows.end;
    };
    while (next < last && std::none_of(local.begin(), local.end(), meets) &&
           std::none_of(remote.begin(), remote.end(), meets)) {
      auto nearest = last;
      for (const auto* side : {&local, &remote})
        for (const auto& one : *side)
          if (one.windows.begin > next) nearest = std::min(nearest, one.windows.begin);
      next = nearest;
    }
  }
};

/// A request of a rank elsewhere, answered once the window is full.
struct RemoteRequest {
  int rank;
  std::int64_t slot;
  Runs runs;
};

struct Buffer {
  enum class State { free, open, moving, full };
  State state = State::free;
  int index = 0;
  std::size_t aggregator = 0;
  std::int64_t number = 0;
  Run window;
  Extent wanted;  ///< of the file: first byte anyone has here to the last
  std::vector<Incoming> incoming;
  std::vector<RemoteRequest> requests;
  std::vector<std::unique_ptr<Outgoing>> replies;
  std::uint32_t expected = 0;
};

class Seat : public Task {
 public:
  Seat(Context& context, int seat, std::vector<Course> courses)
      : c_(context), seat_(seat), courses_(std::move(courses)) {
    buffers_[1].index = 1;
    for (auto& course : courses_) course.skip_empty();
  }

  bool done() const override { return exhausted_ && idle(); }

  bool poll() override {
    bool advanced = false;
    // The older window first: messages of one rank arrive in the order of windows.
    for (const int b : {older_, 1 - older_})
      while (step(buffers_[static_cast<std::size_t>(b)])) advanced = true;
    return advanced;
  }

 protected:
  virtual void start_move(Buffer& buffer, Coverage& coverage) = 0;
  virtual bool poll_move(Buffer& buffer) = 0;
  /// Readers must say what they need before the window can be filled.
  virtual bool needs_marks() const { return c_.marks; }
  /// Windows of one aggregator must leave in their order, even if a later one is complete first.
  virtual bool keeps_order() const { return false; }

  char* data(const Buffer& buffer) { return c_.arena().data(seat_, buffer.index); }
  SeatBuffer& control(const Buffer& buffer) { return c_.arena().control(seat_, buffer.index); }
  Coverage coverage(const Buffer& buffer) {
    return {c_.arena().coverage(seat_, buffer.index), buffer.window.bytes(), c_.grain};
  }

  Context& c_;

 private:
  bool writing() const { return c_.operation == Operation::write; }
  bool opens() const { return writing() || needs_marks(); }

  bool idle() const {
    return std::all_of(buffers_.begin(), buffers_.end(),
                       [](const Buffer& buffer) { return buffer.state == Buffer::State::free; });
  }

  bool step(Buffer& buffer) {
    switch (buffer.state) {
      case Buffer::State::free:
        return begin(buffer);
      case Buffer::State::open:
        return gather(buffer);
      case Buffer::State::moving:
        return finish_move(buffer);
      case Buffer::State::full:
        return serve(buffer);
    }
    return false;
  }

  /// The course with the lowest window number next; all seats and relays follow this one order, so
  /// that none can wait for another in a circle.
  Course* next_course() {
    Course* best = nullptr;
    for (auto& course : courses_)
      if (course.next < course.last && (best == nullptr || course.next < best->next))
        best = &course;
    return best;
  }

  bool begin(Buffer& buffer) {
    Course* course = next_course();
    if (course == nullptr) {
      exhausted_ = true;
      return false;
    }
    buffer.aggregator = course->aggregator;
    buffer.number = course->next++;
    const auto& domain = c_.plan.aggregators[buffer.aggregator].domain;
    buffer.window = window_of(domain, c_.plan.cycle_bytes, buffer.number);
    older_ = buffers_[static_cast<std::size_t>(1 - buffer.index)].state == Buffer::State::free
                 ? buffer.index
                 : 1 - buffer.index;
    invite(buffer, *course);
    course->skip_empty();
    ++c_.traffic.cycles;
    return true;
  }

  void invite(Buffer& buffer, const Course& course) {
    const auto meets = [&](const Contributor& one) {
      return one.windows.begin <= buffer.number && buffer.number < one.windows.end;
    };
    buffer.expected = 0;
    buffer.wanted = {buffer.window.end(), buffer.window.offset};
    for (const auto& one : course.local)
      if (meets(one)) {
        ++buffer.expected;
        widen(buffer, one.rank);
      }
    for (const auto& one : course.remote)
      if (meets(one)) {
        buffer.incoming.emplace_back(one.rank, contribution_tag(buffer.aggregator),
                                     c_.room.comm.get());
        widen(buffer, one.rank);
      }
    if (!c_.plan.relay_of_node.empty()) buffer.wanted = {buffer.window.offset, buffer.window.end()};
    auto& shared = control(buffer);
    shared.arrived.store(0, std::memory_order_relaxed);
    shared.marked.store(0, std::memory_order_relaxed);
    shared.expected.store(buffer.expected, std::memory_order_relaxed);
    shared.end_of_file.store(no_end_of_file, std::memory_order_relaxed);
    if (opens()) {
      coverage(buffer).clear();
      shared.open.store(ticket(c_.call, buffer.aggregator, buffer.number),
                        std::memory_order_release);
      buffer.state = Buffer::State::open;
      ring_contributors(course, buffer);
    } else {
      auto all = coverage(buffer);
      buffer.state = Buffer::State::moving;
      start_move(buffer, all);
    }
  }

  void widen(Buffer& buffer, int rank) {
    const auto& summary = c_.ranks[static_cast<std::size_t>(rank)];
    buffer.wanted.begin =
        std::min(buffer.wanted.begin, std::max(summary.low, buffer.window.offset));
    buffer.wanted.end = std::max(buffer.wanted.end, std::min(summary.high, buffer.window.end()));
  }

  void ring_contributors(const Course& course, const Buffer& buffer) {
    for (const auto& one : course.local)
      if (one.windows.begin <= buffer.number && buffer.number < one.windows.end &&
          one.rank != c_.hood.rank())
        ring(c_.arena().bell(c_.hood.local_of(one.rank)));
  }

  /// Takes in what has arrived from elsewhere; true if anything did.
  bool receive(Buffer& buffer) {
    bool advanced = false;
    for (std::size_t i = 0; i < buffer.incoming.size();) {
      auto& message = buffer.incoming[i];
      if (expected_in_older(buffer, message.from()) || !message.poll()) {
        ++i;
        continue;
      }
      accept(buffer, message);
      buffer.incoming.erase(buffer.incoming.begin() + static_cast<std::ptrdiff_t>(i));
      advanced = true;
    }
    return advanced;
  }

  bool expected_in_older(const Buffer& buffer, int rank) const {
    if (buffer.index == older_) return false;
    const auto& older = buffers_[static_cast<std::size_t>(older_)];
    return older.state != Buffer::State::free && older.aggregator == buffer.aggregator &&
           std::any_of(older.incoming.begin(), older.incoming.end(),
                       [&](const Incoming& message) { return message.from() == rank; });
  }

  void accept(Buffer& buffer, Incoming& message) {
    auto runs = packet_runs(message.bytes());
    if (!runs || !fits(*runs, buffer)) {
      c_.fail(EIO);
      return;
    }
    auto marked = coverage(buffer);
    if (opens())
      for (const auto& run : *runs) marked.mark(run);
    if (writing()) {
      copy_runs(Direction::to_window, *runs, packet_data(message.bytes()), data(buffer));
    } else {
      buffer.requests.push_back(
          {message.from(), packet_header(message.bytes()).answer_slot, std::move(*runs)});
    }
  }

  static bool fits(const Runs& runs, const Buffer& buffer) {
    return std::all_of(runs.begin(), runs.end(), [&](const Run& run) {
      return run.offset >= 0 && run.end() <= buffer.window.bytes();
    });
  }

  bool gather(Buffer& buffer) {
    const bool advanced = receive(buffer);
    const auto& shared = control(buffer);
    const auto& counter = writing() ? shared.arrived : shared.marked;
    if (!buffer.incoming.empty() || counter.load(std::memory_order_acquire) != buffer.expected)
      return advanced;
    if (keeps_order() && follows_open_window(buffer)) return advanced;
    auto marked = coverage(buffer);
    buffer.state = Buffer::State::moving;
    start_move(buffer, marked);
    return true;
  }

  bool follows_open_window(const Buffer& buffer) const {
    const auto& other = buffers_[static_cast<std::size_t>(1 - buffer.index)];
    return other.state == Buffer::State::open && other.aggregator == buffer.aggregator &&
           other.number < buffer.number;
  }

  bool finish_move(Buffer& buffer) {
    if (!poll_move(buffer)) return false;
    if (writing()) {
      buffer.state = Buffer::State::free;
      return true;
    }
    buffer.state = Buffer::State::full;
    control(buffer).full.store(ticket(c_.call, buffer.aggregator, buffer.number),
                               std::memory_order_release);
    for (const auto& course : courses_)
      if (course.aggregator == buffer.aggregator) ring_contributors(course, buffer);
    return true;
  }

  bool serve(Buffer& buffer) {
    bool advanced = receive(buffer);
    for (auto& request : buffer.requests) reply(buffer, request);
    buffer.requests.clear();
    for (auto& outgoing : buffer.replies)
      if (outgoing->poll()) advanced = true;
    std::erase_if(buffer.replies, [](const auto& outgoing) { return !outgoing->busy(); });
    const bool taken = control(buffer).arrived.load(std::memory_order_acquire) == buffer.expected;
    if (!taken || !buffer.incoming.empty() || !buffer.replies.empty()) return advanced;
    buffer.state = Buffer::State::free;
    return true;
  }

  void reply(Buffer& buffer, RemoteRequest& request) {
    const auto bytes = total_bytes(request.runs);
    if (bytes == 0) return;
    auto packet =
        begin_packet({}, bytes, control(buffer).end_of_file.load(std::memory_order_relaxed));
    copy_runs(Direction::from_window, request.runs, packet_data(packet), data(buffer));
    buffer.replies.push_back(std::make_unique<Outgoing>());
    buffer.replies.back()->send(std::move(packet), request.rank,
                                reply_tag(buffer.aggregator, request.slot), c_.room.comm.get());
    c_.traffic.bytes_between_nodes += bytes;
    ++c_.traffic.messages_between_nodes;
  }

  int seat_;
  std::vector<Course> courses_;
  std::array<Buffer, 2> buffers_;
  int older_ = 0;
  bool exhausted_ = false;
};

/// A seat whose bytes go to storage.
class StorageSeat final : public Seat {
 public:
  using Seat::Seat;

 private:
  struct Move {
    Job job;
    bool busy = false;
    bool locked = false;
    Extent lock;
  };

  Storage* storage() {
    int error = 0;
    auto* storage = c_.file.storage(error);
    if (storage == nullptr) c_.fail(error);
    return storage;
  }

  void start_move(Buffer& buffer, Coverage& coverage) override {
    auto& move = moves_[static_cast<std::size_t>(buffer.index)];
    move.job = Job{c_.operation, {}, 0, no_end_of_file, 0, 0};
    if (c_.error != 0) return;  // after a failure the protocol goes on, the storage is left alone
    auto* const store = storage();
    if (store == nullptr) return;
    if (c_.operation == Operation::write)
      gather_writes(buffer, coverage, move);
    else
      gather_reads(buffer, coverage, move.job);
    if (c_.error != 0)
      move.job.transfers.clear();  // holes that could not be read must not be written
    const auto started = now_ns();
    move.busy = !store->start(move.job);
    c_.traffic.storage_ns += now_ns() - started;
    if (!move.busy) finish(buffer, move);
  }

  bool poll_move(Buffer& buffer) override {
    auto& move = moves_[static_cast<std::size_t>(buffer.index)];
    if (!move.busy) return true;
    int error = 0;
    auto* const store = c_.file.storage(error);
    if (store != nullptr && !store->poll(move.job)) return false;
    move.busy = false;
    finish(buffer, move);
    return true;
  }

  void finish(Buffer& buffer, Move& move) {
    if (move.locked) unlock(move);
    if (move.job.error != 0) c_.fail(move.job.error);
    c_.traffic.requests += move.job.requests;
    if (c_.operation == Operation::read && move.job.end_of_file != no_end_of_file) {
      control(buffer).end_of_file.store(move.job.end_of_file, std::memory_order_relaxed);
      c_.met_end_of_file(move.job.end_of_file);
    }
  }

  /// Adds the file blocks under buffer bytes [begin, end).
  void add_transfers(const Buffer& buffer, Extent bytes, std::vector<Transfer>& out) {
    while (bytes.begin < bytes.end) {
      const auto block_end = (bytes.begin / buffer.window.length + 1) * buffer.window.length;
      const auto end = std::min(bytes.end, block_end);
      out.push_back(
          {file_offset(buffer.window, bytes.begin), data(buffer) + bytes.begin, end - bytes.begin});
      bytes.begin = end;
    }
  }

  void gather_writes(Buffer& buffer, Coverage& coverage, Move& move) {
    const auto extents = coverage.extents();
    if (worth_sieving(extents)) {
      fill_holes(buffer, extents, move);
      add_transfers(buffer, {extents.front().begin, extents.back().end}, move.job.transfers);
      return;
    }
    for (const auto& extent : extents) add_transfers(buffer, extent, move.job.transfers);
  }

  void gather_reads(Buffer& buffer, Coverage& coverage, Job& job) {
    if (c_.marks) {
      for (const auto& extent : coverage.extents()) add_transfers(buffer, extent, job.transfers);
      return;
    }
    for (std::int64_t i = 0; i < buffer.window.count; ++i) {
      const auto begin = buffer.window.block(i);
      const auto part = intersect({begin, begin + buffer.window.length}, buffer.wanted);
      if (part.empty()) continue;
      job.transfers.push_back(
          {part.begin, data(buffer) + i * buffer.window.length + part.begin - begin, part.size()});
    }
  }

  /// Many small stretches that nearly fill their span: one read and one write beat a request each.
  bool worth_sieving(const std::vector<Extent>& extents) const {
    constexpr std::size_t few = 8;
    constexpr std::int64_t large = 2048;
    if (c_.plan.requests != Requests::sieve || extents.size() <= few || !c_.file.readable())
      return false;
    std::int64_t covered = 0;
    for (const auto& extent : extents) covered += extent.size();
    const auto span = extents.back().end - extents.front().begin;
    return covered / static_cast<std::int64_t>(extents.size()) < large &&
           static_cast<double>(covered) >= c_.sieve_threshold * static_cast<double>(span);
  }

  /// Reads what lies in the file between the stretches, under a lock: others may own those bytes.
  void fill_holes(Buffer& buffer, const std::vector<Extent>& extents, Move& move) {
    const Extent span{extents.front().begin, extents.back().end};
    lock(move,
         {file_offset(buffer.window, span.begin), file_offset(buffer.window, span.end - 1) + 1});
    scratch_.assign(static_cast<std::size_t>(span.size()), 0);
    Job old{Operation::read, {}, 0, no_end_of_file, 0, 0};
    add_transfers(buffer, span, old.transfers);
    for (auto& transfer : old.transfers)
      transfer.data = scratch_.data() + (transfer.data - (data(buffer) + span.begin));
    int error = 0;
    auto* const store = c_.file.storage(error);
    if (store == nullptr || store->run(old) != 0) {
      c_.fail(store == nullptr ? error : old.error);
      return;
    }
    for (std::size_t i = 1; i < extents.size(); ++i) {
      const Extent hole{extents[i - 1].end, extents[i].begin};
      std::memcpy(data(buffer) + hole.begin, scratch_.data() + (hole.begin - span.begin),
                  static_cast<std::size_t>(hole.size()));
      c_.traffic.sieved_bytes += hole.size();
    }
    c_.traffic.requests += old.requests;
  }

  void set_lock(Extent range, short kind, int command) {
    int error = 0;
    const int fd = c_.file.descriptor(error);
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = range.begin;
    lock.l_len = range.size();
    // A file system without locks has nobody who would respect them.
    while (fd >= 0 && fcntl(fd, command, &lock) != 0 && errno == EINTR) {
    }
  }

  void lock(Move& move, Extent range) {
    set_lock(range, F_WRLCK, F_OFD_SETLKW);
    move.locked = true;
    move.lock = range;
  }

  void unlock(Move& move) {
    set_lock(move.lock, F_UNLCK, F_OFD_SETLK);
    move.locked = false;
  }

  std::array<Move, 2> moves_;
  std::vector<char> scratch_;
};

/// A seat whose bytes go to (or come from) an aggregator on another node: one message per window.
class RelaySeat final : public Seat {
 public:
  using Seat::Seat;

 private:
  struct Move {
    Outgoing out;
    Runs runs;
    std::vector<char> reply;
    MPI_Request request = MPI_REQUEST_NULL;
    bool waiting = false;
  };

  bool needs_marks() const override { return true; }
  bool keeps_order() const override { return true; }  // the aggregator takes messages in this order

  void start_move(Buffer& buffer, Coverage& coverage) override {
    auto& move = moves_[static_cast<std::size_t>(buffer.index)];
    move.runs.clear();
    for (const auto& extent : coverage.extents())
      append(move.runs, {extent.begin, extent.size(), 0, 1});
    const auto bytes = total_bytes(move.runs);
    const bool writing = c_.operation == Operation::write;
    const int peer = c_.plan.aggregators[buffer.aggregator].rank;
    if (!writing && bytes > 0) {
      move.reply = begin_packet({}, bytes, no_end_of_file);
      check(PMPI_Irecv(move.reply.data(), static_cast<int>(move.reply.size()), MPI_BYTE, peer,
                       reply_tag(buffer.aggregator, buffer.index), c_.room.comm.get(),
                       &move.request));
      move.waiting = true;
    }
    auto packet = begin_packet(move.runs, writing ? bytes : 0, no_end_of_file, buffer.index);
    c_.traffic.metadata_bytes +=
        packet_header(packet).description + static_cast<std::int64_t>(sizeof(PacketHeader));
    if (writing) copy_runs(Direction::from_window, move.runs, packet_data(packet), data(buffer));
    move.out.send(std::move(packet), peer, contribution_tag(buffer.aggregator), c_.room.comm.get());
    if (writing) c_.traffic.bytes_between_nodes += bytes;
    ++c_.traffic.messages_between_nodes;
  }

  bool poll_move(Buffer& buffer) override {
    auto& move = moves_[static_cast<std::size_t>(buffer.index)];
    move.out.poll();
    if (move.waiting) {
      int arrived = 0;
      check(REAL(Test)(&move.request, &arrived, MPI_STATUS_IGNORE));
      if (arrived == 0) return false;
      move.waiting = false;
      copy_runs(Direction::to_window, move.runs, packet_data(move.reply), data(buffer));
      control(buffer).end_of_file.store(packet_header(move.reply).end_of_file,
                                        std::memory_order_relaxed);
    }
    return !move.out.busy();
  }

  std::array<Move, 2> moves_;
};

/// Ranks of one node that contribute to an aggregator.
std::vector<Contributor> contributors(const Context& c, const Aggregator& aggregator,
                                      const std::vector<int>& ranks) {
  std::vector<Contributor> found;
  for (const int rank : ranks) {
    if (c.plan.group(rank) != aggregator.group) continue;
    const auto windows = windows_of(c.plan, aggregator, c.ranks[static_cast<std::size_t>(rank)]);
    if (!windows.empty()) found.push_back({rank, windows});
  }
  return found;
}

/// With relays a node contributes to a window as soon as one of its ranks does. Windows that none
/// of them meets are left out, so a node whose ranks are far apart counts as several contributors.
std::vector<Contributor> merged(std::vector<Contributor> ranks, int relay) {
  std::sort(ranks.begin(), ranks.end(), [](const Contributor& a, const Contributor& b) {
    return a.windows.begin < b.windows.begin;
  });
  std::vector<Contributor> nodes;
  for (const auto& one : ranks) {
    if (!nodes.empty() && one.windows.begin <= nodes.back().windows.end)
      nodes.back().windows.end = std::max(nodes.back().windows.end, one.windows.end);
    else
      nodes.push_back({relay, one.windows});
  }
  return nodes;
}

Extent hull(const Course& course) {
  Extent all{INT64_MAX, 0};
  for (const auto* side : {&course.local, &course.remote})
    for (const auto& one : *side)
      all = {std::min(all.begin, one.windows.begin), std::max(all.end, one.windows.end)};
  return all;
}

Course course_of(const Context& c, std::size_t a, bool with_remote) {
  Course course;
  course.aggregator = a;
  const auto& aggregator = c.plan.aggregators[a];
  const auto& topology = c.hood.topology();
  course.local = contributors(c, aggregator, topology.ranks_of(c.hood.node()));
  for (int node = 0; with_remote && node < topology.nodes(); ++node) {
    if (node == c.hood.node()) continue;
    auto others = contributors(c, aggregator, topology.ranks_of(node));
    if (!c.plan.relay_of_node.empty())
      others = merged(std::move(others), c.plan.relay_of_node[static_cast<std::size_t>(node)].rank);
    course.remote.insert(course.remote.end(), others.begin(), others.end());
  }
  const auto windows = hull(course);
  course.next = windows.begin;
  course.last = windows.end;
  return course;
}

}  // namespace

void add_seats(Context& c, Tasks& tasks) {
  const int me = c.hood.rank();
  std::map<int, std::vector<Course>> by_seat;
  for (std::size_t a = 0; a < c.plan.aggregators.size(); ++a)
    if (c.plan.aggregators[a].rank == me)
      by_seat[c.plan.aggregators[a].seat].push_back(course_of(c, a, true));
  for (auto& [seat, courses] : by_seat)
    tasks.push_back(std::make_unique<StorageSeat>(c, seat, std::move(courses)));

  if (c.plan.relay_of_node.empty()) return;
  const auto& relay = c.plan.relay_of_node[static_cast<std::size_t>(c.hood.node())];
  if (relay.rank != me) return;
  std::vector<Course> courses;
  for (std::size_t a = 0; a < c.plan.aggregators.size(); ++a)
    if (c.hood.topology().node_of(c.plan.aggregators[a].rank) != c.hood.node())
      courses.push_back(course_of(c, a, false));
  tasks.push_back(std::make_unique<RelaySeat>(c, relay.seat, std::move(courses)));
}

}  // namespace choir
