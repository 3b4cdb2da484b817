#include "engine/slots.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <queue>

#include "engine/packet.hpp"
#include "mpi/error.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

enum SlotState : std::uint32_t { slot_empty = 0, slot_delivered = 1, slot_answered = 2 };

struct alignas(64) SlotHeader {
  std::atomic<std::uint32_t> state{slot_empty};
  std::uint32_t description = 0;
  std::int64_t bytes = 0;
  std::int64_t end_of_file = 0;
};

constexpr std::int64_t most_encoded_run = 40;

/// The shape of every slot of one writer; the same arithmetic on both sides.
struct SlotShape {
  std::int64_t size = 0;         ///< of a whole slot
  std::int64_t data = 0;         ///< bytes of data a packet can hold
  std::int64_t description = 0;  ///< bytes its description can take
  std::size_t most_runs() const {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, description / most_encoded_run));
  }
};

std::vector<int> members_of(const Context& c, int writer) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < c.plan.writer_of.size(); ++rank)
    if (c.plan.writer_of[rank] == writer) members.push_back(static_cast<int>(rank));
  return members;
}

SlotShape shape_of(const Context& c, std::size_t members) {
  SlotShape shape;
  shape.size = std::min(c.plan.cycle_bytes, c.room.arena->shape().capacity) /
               static_cast<std::int64_t>(members);
  shape.size = std::max<std::int64_t>(512, shape.size / 64 * 64);
  const auto room = shape.size - static_cast<std::int64_t>(sizeof(SlotHeader));
  shape.description = std::max(room / 4, most_encoded_run + 16);
  shape.data = room - shape.description;
  return shape;
}

/// What of the stream goes into one packet: [begin, end) and its runs, in file offsets.
struct Portion {
  std::int64_t end = 0;
  Runs runs;
};

Portion portion_from(const Access& access, std::int64_t begin, const SlotShape& shape) {
  Portion portion;
  const auto limit = std::min(access.end, begin + shape.data);
  portion.end = begin;
  bool full = false;
  visit_runs(access.file, begin, limit, [&](const Run& run) {
    if (full) return;
    append(portion.runs, run);
    if (portion.runs.size() > shape.most_runs()) {
      portion.runs.pop_back();
      full = true;
      return;
    }
    portion.end += run.bytes();
  });
  return portion;
}

class SlotLane final : public Task {
 public:
  SlotLane(Context& context, std::size_t writer, int slot, SlotShape shape)
      : c_(context),
        writer_(writer),
        seat_(context.plan.aggregators[writer].seat),
        owner_(context.hood.local_of(context.plan.aggregators[writer].rank)),
        slot_(slot),
        shape_(shape),
        next_(context.access.begin) {}

  bool done() const override { return next_ >= c_.access.end && open_requests_ == 0; }

  bool poll() override {
    bool advanced = false;
    while (step()) advanced = true;
    return advanced;
  }

 private:
  SlotHeader& header(int b) {
    return *reinterpret_cast<SlotHeader*>(c_.arena().data(seat_, b) + slot_ * shape_.size);
  }
  char* description(int b) { return reinterpret_cast<char*>(&header(b)) + sizeof(SlotHeader); }
  char* data(int b) { return description(b) + shape_.description; }

  /// The seat's memory may hold windows of an earlier call until its owner has cleared the slots.
  bool ready() {
    if (!ready_)
      ready_ = c_.arena().control(seat_, 0).open.load(std::memory_order_acquire) ==
               ticket(c_.call, writer_, 0);
    return ready_;
  }

  bool step() {
    if (!ready()) return false;
    if (open_requests_ > 0) {
      const int b = static_cast<int>(answered_ % 2);
      if (header(b).state.load(std::memory_order_acquire) == slot_answered) {
        take(b);
        return true;
      }
    }
    const int b = static_cast<int>(delivered_ % 2);
    if (next_ >= c_.access.end || open_requests_ == 2) return false;
    if (header(b).state.load(std::memory_order_acquire) != slot_empty) return false;
    deliver(b);
    return true;
  }

  void deliver(int b) {
    auto portion = portion_from(c_.access, next_, shape_);
    Bytes encoded;
    encode(portion.runs, encoded);
    std::memcpy(description(b), encoded.data(), encoded.size());
    auto& slot = header(b);
    slot.description = static_cast<std::uint32_t>(encoded.size());
    slot.bytes = portion.end - next_;
    if (c_.operation == Operation::write) {
      copy_packed(Direction::to_window, c_.memory, next_ - c_.access.begin,
                  portion.end - c_.access.begin, data(b));
    } else {
      asked_[static_cast<std::size_t>(b)] = {next_, portion.end};
      ++open_requests_;
    }
    c_.traffic.bytes_in_node += slot.bytes;
    next_ = portion.end;
    ++delivered_;
    slot.state.store(slot_delivered, std::memory_order_release);
    if (owner_ != c_.hood.local()) ring(c_.arena().bell(owner_));
  }

  void take(int b) {
    auto part = asked_[static_cast<std::size_t>(b)];
    const auto end_of_file = header(b).end_of_file;
    if (end_of_file != no_end_of_file)
      part.end = std::max(part.begin, std::min(part.end, c_.access.file.position_of(end_of_file)));
    copy_packed(Direction::from_window, c_.memory, part.begin - c_.access.begin,
                part.end - c_.access.begin, data(b));
    ++answered_;
    --open_requests_;
    header(b).state.store(slot_empty, std::memory_order_release);
  }

  Context& c_;
  std::size_t writer_;
  int seat_, owner_, slot_;
  SlotShape shape_;
  std::int64_t next_;
  bool ready_ = false;
  std::int64_t delivered_ = 0, answered_ = 0;
  int open_requests_ = 0;
  std::array<Extent, 2> asked_;
};

class RemoteSlotLane final : public Task {
 public:
  RemoteSlotLane(Context& context, std::size_t writer, SlotShape shape)
      : c_(context), writer_(writer), shape_(shape), next_(context.access.begin) {}

  bool done() const override { return next_ >= c_.access.end && !out_.busy() && !waiting_; }

  bool poll() override {
    bool advanced = out_.poll();
    if (waiting_ && received()) advanced = true;
    if (!out_.busy() && !waiting_ && next_ < c_.access.end) {
      deliver();
      advanced = true;
    }
    return advanced;
  }

 private:
  int peer() const { return c_.plan.aggregators[writer_].rank; }

  void deliver() {
    const auto portion = portion_from(c_.access, next_, shape_);
    const bool writing = c_.operation == Operation::write;
    const auto bytes = portion.end - next_;
    auto packet = begin_packet(portion.runs, writing ? bytes : 0);
    c_.traffic.count_message(writing ? bytes : 0, packet_overhead(packet));
    if (writing) {
      copy_packed(Direction::to_window, c_.memory, next_ - c_.access.begin,
                  portion.end - c_.access.begin, packet_data(packet));
    } else {
      asked_ = {next_, portion.end};
      reply_ = begin_reply(bytes);
      check(PMPI_Irecv(reply_.data(), static_cast<int>(reply_.size()), MPI_BYTE, peer(),
                       reply_tag(writer_, 0), c_.room.comm.get(), &request_));
      waiting_ = true;
    }
    out_.send(std::move(packet), peer(), contribution_tag(writer_), c_.room.comm.get());
    next_ = portion.end;
  }

  bool received() {
    int arrived = 0;
    check(REAL(Test)(&request_, &arrived, MPI_STATUS_IGNORE));
    if (arrived == 0) return false;
    waiting_ = false;
    const auto end_of_file = reply_end_of_file(reply_);
    auto part = asked_;
    if (end_of_file != no_end_of_file)
      part.end = std::max(part.begin, std::min(part.end, c_.access.file.position_of(end_of_file)));
    copy_packed(Direction::from_window, c_.memory, part.begin - c_.access.begin,
                part.end - c_.access.begin, reply_data(reply_));
    return true;
  }

  Context& c_;
  std::size_t writer_;
  SlotShape shape_;
  std::int64_t next_;
  Outgoing out_;
  bool waiting_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<char> reply_;
  Extent asked_;
};

/// The writer's side.
class SlotSeat final : public Task {
 public:
  SlotSeat(Context& context, std::size_t writer, const std::vector<int>& members, SlotShape shape)
      : c_(context), writer_(writer), seat_(context.plan.aggregators[writer].seat), shape_(shape) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const int rank = members[i];
      const bool local = c_.hood.topology().node_of(rank) == c_.hood.node();
      Member member;
      member.rank = rank;
      member.slot = static_cast<int>(i);
      member.local = local;
      member.left = c_.ranks[rank].bytes;
      members_.push_back(std::move(member));
    }
    clear_slots();
  }
  /// A call that ends early still owns the memory its job moves.
  ~SlotSeat() override {
    if (busy_ != nullptr) busy_->await(job_);
    c_.arena().control(seat_, 0).take_down();
  }
  SlotSeat(const SlotSeat&) = delete;
  SlotSeat& operator=(const SlotSeat&) = delete;

  bool done() const override {
    return phase_ == Phase::gathering && unfinished() == 0 && replies_.empty();
  }

  bool poll() override {
    bool advanced = false;
    while (step()) advanced = true;
    return advanced;
  }

 private:
  struct Member {
    int rank = 0;
    int slot = 0;
    bool local = false;
    std::int64_t left = 0;
    bool here = false;  ///< this round's packet has arrived
    Runs runs;
    char* data = nullptr;
    std::unique_ptr<Incoming> message;
    std::vector<char> reply;
  };
  enum class Phase { gathering, moving };

  void clear_slots() {
    for (int b = 0; b < 2; ++b)
      for (const auto& member : members_)
        new (c_.arena().data(seat_, b) + member.slot * shape_.size) SlotHeader;
    c_.arena().control(seat_, 0).open.store(ticket(c_.call, writer_, 0), std::memory_order_release);
    for (const auto& member : members_)
      if (member.local && member.rank != c_.hood.rank())
        ring(c_.arena().bell(c_.hood.local_of(member.rank)));
  }

  std::size_t unfinished() const {
    return static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(),
                                                  [](const Member& m) { return m.left > 0; }));
  }

  SlotHeader& header(const Member& member) {
    return *reinterpret_cast<SlotHeader*>(c_.arena().data(seat_, static_cast<int>(round_ % 2)) +
                                          member.slot * shape_.size);
  }

  bool step() {
    for (auto& reply : replies_) reply->poll();
    std::erase_if(replies_, [](const auto& reply) { return !reply->busy(); });
    if (phase_ == Phase::moving) return finish();
    if (unfinished() == 0) return false;
    bool advanced = false, all = true;
    for (auto& member : members_) {
      if (member.left == 0 || member.here) continue;
      if (collect(member)) advanced = true;
      if (!member.here) all = false;
    }
    if (!all) return advanced;
    start();
    return true;
  }

  bool collect(Member& member) {
    if (member.local) {
      auto& slot = header(member);
      if (slot.state.load(std::memory_order_acquire) != slot_delivered) return false;
      auto* description = reinterpret_cast<unsigned char*>(&slot) + sizeof(SlotHeader);
      accept(member, decode(description, slot.description),
             reinterpret_cast<char*>(description) + shape_.description);
      return true;
    }
    if (!member.message)
      member.message =
          std::make_unique<Incoming>(member.rank, contribution_tag(writer_), c_.room.comm.get());
    if (!member.message->poll()) return false;
    auto runs = packet_runs(member.message->bytes());
    char* data = packet_data(member.message->bytes());
    if (c_.operation == Operation::read && runs) {
      member.reply = begin_reply(total_bytes(*runs));
      data = reply_data(member.reply);
    }
    accept(member, std::move(runs), data);
    return true;
  }

  void accept(Member& member, std::optional<Runs> runs, char* data) {
    member.here = true;
    if (!runs) {  // damaged: end this member's part, or the round would never end
      c_.fail(EIO);
      member.left = 0;
      return;
    }
    member.runs = std::move(*runs);
    member.data = data;
  }

  void start() {
    phase_ = Phase::moving;
    job_ = Job{.operation = c_.operation};
    ++c_.traffic.cycles;
    busy_ = nullptr;
    if (c_.error != 0) return;
    int error = 0;
    auto* const storage = c_.file.storage(error);
    if (storage == nullptr) return c_.fail(error);
    merge();
    const auto started = now_ns();
    busy_ = storage->start(job_) ? nullptr : storage;
    c_.traffic.storage_ns += now_ns() - started;
  }

  /// Merges the members' ascending lists into one ascending list of transfers.
  void merge() {
    struct Head {
      std::int64_t offset;
      std::size_t member, run;
      std::int64_t block;
      char* data;
      bool operator<(const Head& other) const {
        return offset != other.offset ? offset > other.offset : member > other.member;
      }
    };
    std::priority_queue<Head> heads;
    for (std::size_t m = 0; m < members_.size(); ++m)
      if (members_[m].here && !members_[m].runs.empty())
        heads.push({members_[m].runs[0].offset, m, 0, 0, members_[m].data});
    while (!heads.empty()) {
      auto head = heads.top();
      heads.pop();
      const auto& runs = members_[head.member].runs;
      const auto& run = runs[head.run];
      job_.transfers.push_back({head.offset, head.data, run.length});
      head.data += run.length;
      if (++head.block == run.count) {
        head.block = 0;
        if (++head.run == runs.size()) continue;
      }
      head.offset = runs[head.run].block(head.block);
      heads.push(head);
    }
  }

  bool finish() {
    if (busy_ != nullptr) {
      if (!busy_->poll(job_)) return false;
      busy_ = nullptr;
    }
    if (job_.error != 0) c_.fail(job_.error);
    c_.traffic.count_job(job_);
    c_.traffic.storage_ns += job_.beside_ns;
    if (job_.end_of_file != no_end_of_file) c_.met_end_of_file(job_.end_of_file);
    for (auto& member : members_)
      if (member.here) release(member);
    ++round_;
    phase_ = Phase::gathering;
    return true;
  }

  void release(Member& member) {
    member.here = false;
    member.left = std::max<std::int64_t>(0, member.left - total_bytes(member.runs));
    const bool writing = c_.operation == Operation::write;
    if (member.local) {
      auto& slot = header(member);
      slot.end_of_file = job_.end_of_file;
      slot.state.store(writing ? slot_empty : slot_answered, std::memory_order_release);
      if (member.rank != c_.hood.rank()) ring(c_.arena().bell(c_.hood.local_of(member.rank)));
    } else {
      if (!writing) answer(member);
      member.message.reset();
    }
    member.runs.clear();
  }

  void answer(Member& member) {
    set_reply_end_of_file(member.reply, job_.end_of_file);
    c_.traffic.count_message(total_bytes(member.runs), reply_overhead);
    replies_.push_back(std::make_unique<Outgoing>());
    replies_.back()->send(std::move(member.reply), member.rank, reply_tag(writer_, 0),
                          c_.room.comm.get());
  }

  Context& c_;
  std::size_t writer_;
  int seat_;
  SlotShape shape_;
  std::vector<Member> members_;
  std::vector<std::unique_ptr<Outgoing>> replies_;
  Phase phase_ = Phase::gathering;
  std::int64_t round_ = 0;
  Job job_;
  Storage* busy_ = nullptr;  ///< who carries out the job
};

}  // namespace

void add_slots(Context& c, Tasks& tasks) {
  const int me = c.hood.rank();
  for (std::size_t w = 0; w < c.plan.aggregators.size(); ++w) {
    if (c.plan.aggregators[w].rank != me) continue;
    const auto members = members_of(c, static_cast<int>(w));
    if (!members.empty())
      tasks.push_back(std::make_unique<SlotSeat>(c, w, members, shape_of(c, members.size())));
  }
  const int writer = c.plan.writer_of[static_cast<std::size_t>(me)];
  if (writer < 0) return;
  const auto w = static_cast<std::size_t>(writer);
  const auto members = members_of(c, writer);
  const auto shape = shape_of(c, members.size());
  const auto& aggregator = c.plan.aggregators[w];
  if (c.hood.topology().node_of(aggregator.rank) != c.hood.node()) {
    tasks.push_back(std::make_unique<RemoteSlotLane>(c, w, shape));
    return;
  }
  const auto slot =
      static_cast<int>(std::find(members.begin(), members.end(), me) - members.begin());
  tasks.push_back(std::make_unique<SlotLane>(c, w, slot, shape));
}

}  // namespace choir
