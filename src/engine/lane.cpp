#include "engine/lane.hpp"

#include <algorithm>
#include <array>

#include "engine/agreement.hpp"
#include "engine/packet.hpp"
#include "engine/window.hpp"
#include "mpi/error.hpp"
#include "mpi/real.hpp"

namespace choir {
namespace {

constexpr int most_in_flight = 2;

class LocalLane final : public Task {
 public:
  LocalLane(Context& context, std::size_t aggregator, int seat, int owner_local, bool marks,
            const Itinerary& windows)
      : c_(context),
        aggregator_(aggregator),
        seat_(seat),
        owner_(owner_local),
        marks_(marks),
        next_mark_(windows),
        next_copy_(windows) {}

  bool done() const override { return next_copy_.done(); }

  bool poll() override {
    bool advanced = false;
    while (marks_ && !next_mark_.done() && mark_one()) advanced = true;
    while (!next_copy_.done() && copy_one()) advanced = true;
    return advanced;
  }

 private:
  /// The buffer that shows this ticket; -1: none yet.
  int buffer_with(std::int64_t index, std::atomic<std::uint64_t> SeatBuffer::*which) {
    const auto wanted = c_.ticket_of(aggregator_, index);
    for (int b = 0; b < 2; ++b)
      if ((c_.arena().control(seat_, b).*which).load(std::memory_order_acquire) == wanted) return b;
    return -1;
  }

  void count(std::atomic<std::uint32_t>& counter, const SeatBuffer& control) {
    const auto expected = control.expected.load(std::memory_order_relaxed);
    if (counter.fetch_add(1, std::memory_order_acq_rel) + 1 == expected &&
        owner_ != c_.hood.local())
      ring(c_.arena().bell(owner_));
  }

  bool mark_one() {
    const int b = buffer_with(next_mark_.number(), &SeatBuffer::open);
    if (b < 0) return false;
    const auto w = next_mark_.window();
    Coverage coverage(c_.arena().coverage(seat_, b), w.bytes(), c_.grain);
    mark_window(coverage, c_.access, w);
    next_mark_.advance();
    auto& control = c_.arena().control(seat_, b);
    count(control.marked, control);
    return true;
  }

  bool copy_one() {
    const bool writing = c_.operation == Operation::write;
    const int b = buffer_with(next_copy_.number(), writing ? &SeatBuffer::open : &SeatBuffer::full);
    if (b < 0) return false;
    const auto started = now_ns();
    auto& control = c_.arena().control(seat_, b);
    const auto w = next_copy_.window();
    if (writing)
      place(w, b);
    else
      take(w, b, control.end_of_file.load(std::memory_order_relaxed));
    next_copy_.advance();
    count(control.arrived, control);
    c_.traffic.exchange_ns += now_ns() - started;
    return true;
  }

  void place(const Run& w, int b) {
    Coverage coverage(c_.arena().coverage(seat_, b), w.bytes(), c_.grain);
    visit_blocks(
        c_.access, w, c_.arena().data(seat_, b), [&](Extent part, char* base, std::int64_t) {
          copy_window(Direction::to_window, c_.access, part.begin, part.end, c_.memory, base);
          c_.traffic.bytes_in_node += part.size();
        });
    mark_window(coverage, c_.access, w);
  }

  void take(const Run& w, int b, std::int64_t end_of_file) {
    visit_blocks(
        c_.access, w, c_.arena().data(seat_, b), [&](Extent part, char* base, std::int64_t) {
          if (end_of_file != no_end_of_file)
            part.end = std::min(part.end, c_.access.file.position_of(end_of_file));
          copy_window(Direction::from_window, c_.access, part.begin, part.end, c_.memory, base);
          c_.traffic.bytes_in_node += part.size();
        });
  }

  Context& c_;
  std::size_t aggregator_;
  int seat_, owner_;
  bool marks_;
  Itinerary next_mark_, next_copy_;
};

/// The parts of one window that a remote rank exchanges.
struct Parcel {
  Run window;
  Runs runs;
  std::vector<Extent> parts;  ///< stream ranges, one per block
  std::int64_t bytes = 0;
};

Parcel parcel_of(const Context& c, const Run& window) {
  Parcel parcel{window, runs_in_window(c.access, window), {}, 0};
  visit_blocks(c.access, window, nullptr, [&](Extent part, char*, std::int64_t) {
    parcel.parts.push_back(part);
    parcel.bytes += part.size();
  });
  return parcel;
}

class RemoteLane final : public Task {
 public:
  RemoteLane(Context& context, std::size_t aggregator, const Itinerary& windows)
      : c_(context), aggregator_(aggregator), next_(windows) {
    flights_[1].slot = 1;
  }

  bool done() const override {
    return next_.done() && std::none_of(flights_.begin(), flights_.end(),
                                        [](const Flight& f) { return f.out.busy() || f.waiting; });
  }

  bool poll() override {
    bool advanced = false;
    for (auto& flight : flights_) {
      if (flight.out.poll()) advanced = true;
      if (flight.waiting && received(flight)) advanced = true;
      if (!flight.out.busy() && !flight.waiting && !next_.done()) {
        start(flight);
        advanced = true;
      }
    }
    return advanced;
  }

 private:
  struct Flight {
    Outgoing out;
    bool waiting = false;
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<char> reply;
    Parcel parcel;
    std::int64_t slot = 0;
  };

  int peer() const { return c_.plan.aggregators[aggregator_].rank; }

  void start(Flight& flight) {
    const auto started = now_ns();
    flight.parcel = parcel_of(c_, next_.window());
    next_.advance();
    const bool writing = c_.operation == Operation::write;
    const auto sent = writing ? flight.parcel.bytes : 0;  // of a read, the aggregator sends data
    auto packet = begin_packet(flight.parcel.runs, sent, flight.slot);
    c_.traffic.count_message(sent, packet_overhead(packet));
    if (writing)
      pack(flight.parcel, packet_data(packet));
    else if (flight.parcel.bytes > 0)
      expect_reply(flight);
    flight.out.send(std::move(packet), peer(), c_.contribution_tag_of(aggregator_),
                    c_.room.comm.get());
    c_.traffic.exchange_ns += now_ns() - started;
  }

  void pack(const Parcel& parcel, char* data) {
    for (const auto& part : parcel.parts) {
      copy_packed(Direction::to_window, c_.memory, part.begin - c_.access.begin,
                  part.end - c_.access.begin, data);
      data += part.size();
    }
  }

  /// A reply has no description, so its size is known.
  void expect_reply(Flight& flight) {
    flight.reply = begin_reply(flight.parcel.bytes);
    check(PMPI_Irecv(flight.reply.data(), static_cast<int>(flight.reply.size()), MPI_BYTE, peer(),
                     c_.reply_tag_of(aggregator_, flight.slot), c_.room.comm.get(),
                     &flight.request));
    flight.waiting = true;
  }

  bool received(Flight& flight) {
    int arrived = 0;
    check(REAL(Test)(&flight.request, &arrived, MPI_STATUS_IGNORE));
    if (arrived == 0) return false;
    flight.waiting = false;
    const auto end_of_file = reply_end_of_file(flight.reply);
    const auto limit =
        end_of_file == no_end_of_file ? c_.access.end : c_.access.file.position_of(end_of_file);
    char* data = reply_data(flight.reply);
    for (const auto& part : flight.parcel.parts) {
      const auto end = std::max(part.begin, std::min(part.end, limit));
      copy_packed(Direction::from_window, c_.memory, part.begin - c_.access.begin,
                  end - c_.access.begin, data);
      data += part.size();
    }
    return true;
  }

  Context& c_;
  std::size_t aggregator_;
  Itinerary next_;
  std::array<Flight, most_in_flight> flights_;
};

}  // namespace

void add_lanes(Context& context, Tasks& tasks) {
  add_lanes(context, [&](int) -> Tasks& { return tasks; });
}

void add_lanes(Context& c, const std::function<Tasks&(int rank)>& tasks_towards) {
  const int me = c.hood.rank();
  const auto mine = c.ranks[me];
  const auto& topology = c.hood.topology();
  for (std::size_t a = 0; a < c.plan.aggregators.size(); ++a) {
    const auto& aggregator = c.plan.aggregators[a];
    if (aggregator.group != c.plan.group(me)) continue;
    const Itinerary windows(c.plan, aggregator, mine);
    if (windows.done()) continue;
    const bool local = topology.node_of(aggregator.rank) == c.hood.node();
    auto& tasks = tasks_towards(aggregator.rank);
    if (local) {
      tasks.push_back(std::make_unique<LocalLane>(
          c, a, aggregator.seat, c.hood.local_of(aggregator.rank), c.marks, windows));
    } else if (!c.plan.relay_of_node.empty()) {
      const auto& relay = c.plan.relay_of_node[static_cast<std::size_t>(c.hood.node())];
      const bool marks = c.operation == Operation::read;
      tasks.push_back(std::make_unique<LocalLane>(c, a, relay.seat, c.hood.local_of(relay.rank),
                                                  marks, windows));
    } else {
      tasks.push_back(std::make_unique<RemoteLane>(c, a, windows));
    }
  }
}

}  // namespace choir
